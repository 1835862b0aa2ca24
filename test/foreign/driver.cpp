// driver.cpp - runs one case of a CUDA program in the emulator: the program's host code as a shared
// library, and its device code as LLVM IR. It stands in for the parts of CUDA's runtime and driver
// that the host code calls. What is right is decided elsewhere.
#include "emulator/Program.h"
#include "emulator/core/TensorMap.h"
#include "runtime/emulator/HostCode.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
using namespace logitile::emulator;

namespace {
struct Driver {
  std::unique_ptr<Program> program;
  std::vector<std::string> kernels;
  GlobalMemory *memory = nullptr;
  uint64_t seed = 0;
};
Driver *driver = nullptr; // the functions of CUDA have no argument for it

[[noreturn]] void fail(const std::string &why) { throw std::runtime_error(why); }

std::string readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    fail("cannot read '" + path + "'");
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The only kernel whose name holds that of a case.
std::string kernelOf(const std::string &name) {
  std::vector<std::string> found;
  for (const std::string &kernel : driver->kernels)
    if (kernel.find(name) != kernel.npos)
      found.push_back(kernel);
  if (found.size() != 1)
    fail(std::to_string(found.size()) + " kernels of the device code have '" + name + "' in their names, not 1");
  return found.front();
}
} // namespace

// ---- what host code calls -----------------------------------------------------------------------

extern "C" {
void foreign_launch(const char *name, const uint32_t *grid, uint32_t threads, uint32_t sharedBytes, const void *const *parameters,
                    uint32_t count);
void foreign_launch(const char *name, const uint32_t *grid, uint32_t threads, uint32_t sharedBytes, const void *const *parameters,
                    uint32_t count) {
  Launch launch;
  launch.kernel = kernelOf(name);
  launch.grid = {grid[0], grid[1], grid[2]};
  launch.threads = {threads, 1, 1};
  launch.dynamicSharedBytes = sharedBytes;
  launch.arguments.assign(parameters, parameters + count);
  launch.seed = driver->seed;
  launch.turns = uint64_t{1} << 20;
  Outcome outcome;
  std::string error;
  if (!driver->program->run(launch, *driver->memory, outcome, error))
    fail(error);
  for (const Report &report : outcome.reports)
    std::printf("seed %llu reports %s\n", static_cast<unsigned long long>(driver->seed), nameOf(report.fault));
  std::fprintf(stderr, "%s", outcome.text().c_str());
}

int cuTensorMapEncodeTiled(TensorMap *map, uint32_t type, uint32_t rank, void *address, const uint64_t *sizes, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps, uint32_t interleave, uint32_t swizzle, uint32_t promotion,
                           uint32_t fill);
int cuTensorMapEncodeTiled(TensorMap *map, uint32_t type, uint32_t rank, void *address, const uint64_t *sizes, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *steps, uint32_t interleave, uint32_t swizzle, uint32_t promotion,
                           uint32_t fill) {
  TensorMapArguments arguments{};
  arguments.type = static_cast<TensorType>(type);
  arguments.rank = rank;
  arguments.address = address;
  for (uint32_t i = 0; i < rank; ++i) {
    arguments.sizes[i] = sizes[i];
    arguments.box[i] = box[i];
    arguments.elementSteps[i] = steps[i];
    if (i)
      arguments.strides[i - 1] = strides[i - 1];
  }
  arguments.interleave = interleave;
  arguments.swizzle = swizzle;
  arguments.promotion = promotion;
  arguments.fill = fill;
  if (const std::string why = encodeTensorMap(arguments, *map); !why.empty())
    fail("cuTensorMapEncodeTiled: " + why);
  return 0;
}
} // extern "C"

namespace {
/// Declared by the cases: C = A B^T.
using Case = void (*)(int m, int n, int k, const void *a, const void *b, float *c);

std::vector<std::string> kernelsOf(const std::string &ir) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::unique_ptr<llvm::Module> module = llvm::parseIR(llvm::MemoryBufferRef(ir, "device"), problem, context);
  if (!module)
    fail("line " + std::to_string(problem.getLineNo()) + " of the device code: " + problem.getMessage().str());
  std::vector<std::string> kernels;
  for (const llvm::Function &function : *module)
    if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      kernels.push_back(function.getName().str());
  return kernels;
}

void runCase(Case run, int m, int n, int k, const std::string &folder) {
  std::string a = readFile(folder + "/a"), b = readFile(folder + "/b");
  std::vector<float> c(size_t(m) * n);
  GlobalMemory memory;
  driver->memory = &memory;
  memory.add("a", a.data(), a.size());
  memory.add("b", b.data(), b.size());
  memory.add("c", c.data(), c.size() * sizeof(float), Contents::undefined);
  run(m, n, k, a.data(), b.data(), c.data());
  std::ofstream stream(folder + "/c" + std::to_string(driver->seed), std::ios::binary);
  stream.write(reinterpret_cast<const char *>(c.data()), static_cast<std::streamsize>(c.size() * sizeof(float)));
}

void runAll(const std::vector<std::string> &words) {
  if (words.size() < 8)
    fail("usage: foreign_driver DEVICE.ll HOST.so CASE M N K FOLDER SEED...; files a and b of FOLDER are read, c<SEED> is written");
  const std::string ir = readFile(words[0]);
  driver->kernels = kernelsOf(ir);
  std::string error;
  driver->program = Program::load(ir, logitile::hostCompiler(), error);
  if (!driver->program)
    fail(error);
  void *host = dlopen(words[1].c_str(), RTLD_LAZY);
  void *found = host ? dlsym(host, words[2].c_str()) : nullptr;
  if (!found)
    fail(dlerror());
  for (size_t i = 7; i < words.size(); ++i) {
    driver->seed = std::stoull(words[i]);
    runCase(reinterpret_cast<Case>(found), std::stoi(words[3]), std::stoi(words[4]), std::stoi(words[5]), words[6]);
  }
}
} // namespace

int main(int count, char **words) {
  Driver here;
  driver = &here;
  try {
    runAll({words + 1, words + count});
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "foreign_driver: %s\n", problem.what());
    return 2;
  }
  return 0;
}
