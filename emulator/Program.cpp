// Program.cpp - compiles a lowered module for the host, and runs the clusters of a launch one after
// another. The files of the instructions have the functions that the code calls.
#include "emulator/Program.h"
#include "emulator/block/Cluster.h"
#include "emulator/lowering/Lower.h"
#include "emulator/core/Numbers.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TargetParser/Triple.h"
#include <cmath>
#include <cstdlib>
using namespace llvm;

namespace logitile::emulator {
using Caller = void (*)(const void *const *arguments);

struct Program::Code {
  explicit Code(const abi::HostCompiler &compiler) : compiler(compiler) {}
  ~Code() {
    if (host)
      compiler.release(host);
  }
  bool compile(const Module &module, std::string &error);

  const abi::HostCompiler &compiler;
  Lowered lowered; // generated code holds addresses of its parts
  abi::HostCode *host = nullptr;
  std::map<std::string, Caller> callers; // by kernel
};

namespace {
// The calling convention has 16-bit numbers in the lowest bits of a register of f32; written so,
// the compiler needs no library for them itself.
float truncateToBf16(float value) { return std::bit_cast<float>(uint32_t{toBf16(value)}); }
float truncateToF16(float value) { return std::bit_cast<float>(uint32_t{toF16(value)}); }
float extendF16(float value) { return fromF16(static_cast<uint16_t>(std::bit_cast<uint32_t>(value))); }

template <typename Result, typename... Arguments> void *addressOf(Result (*function)(Arguments...)) {
  return reinterpret_cast<void *>(function);
}
template <typename Number> using Unary = Number (*)(Number);
template <typename Number> using Binary = Number (*)(Number, Number);
template <typename Number> using Ternary = Number (*)(Number, Number, Number);

/// Functions of the C library in the version for a type, whose names end in 'suffix'.
template <typename Number> void addMath(std::vector<abi::Symbol> &symbols, std::deque<std::string> &names, const char *suffix) {
  const std::pair<const char *, Unary<Number>> unary[] = {
      {"exp2", std::exp2},   {"exp", std::exp},   {"log2", std::log2}, {"log", std::log},     {"log10", std::log10}, {"sin", std::sin},
      {"cos", std::cos},     {"tanh", std::tanh}, {"sqrt", std::sqrt}, {"floor", std::floor}, {"ceil", std::ceil},   {"trunc", std::trunc},
      {"round", std::round}, {"rint", std::rint}, {"nearbyint", std::nearbyint},              {"roundeven", std::nearbyint}};
  const std::pair<const char *, Binary<Number>> binary[] = {
      {"fmod", std::fmod}, {"fmax", std::fmax}, {"fmin", std::fmin}, {"pow", std::pow}};
  auto add = [&](const char *name, void *address) { symbols.push_back({names.emplace_back(std::string(name) + suffix).c_str(), address}); };
  for (const auto &[name, function] : unary)
    add(name, addressOf(function));
  for (const auto &[name, function] : binary)
    add(name, addressOf(function));
  add("fma", addressOf(static_cast<Ternary<Number>>(std::fma)));
}

/// What the host's code generator may call for operations of LLVM IR that processors lack. 'names'
/// holds texts that the list refers to.
std::vector<abi::Symbol> hostSymbols(std::deque<std::string> &names) {
  std::vector<abi::Symbol> symbols = {
      {"memcpy", reinterpret_cast<void *>(&std::memcpy)},
      {"memmove", reinterpret_cast<void *>(&std::memmove)},
      {"memset", reinterpret_cast<void *>(&std::memset)},
      {"__truncsfbf2", addressOf(truncateToBf16)},
      {"__truncsfhf2", addressOf(truncateToF16)},
      {"__extendhfsf2", addressOf(extendF16)},
  };
  addMath<float>(symbols, names, "f");
  addMath<double>(symbols, names, "");
  return symbols;
}

/// The bitcode of a module; its code runs on the host.
std::string bitcodeOf(const Module &module) {
  std::string bitcode;
  raw_string_ostream stream(bitcode);
  WriteBitcodeToFile(module, stream);
  return bitcode;
}

/// Null with 'error' where the text is none of a module for GPUs.
std::unique_ptr<Module> parse(std::string_view ir, LLVMContext &context, std::string &error) {
  SMDiagnostic diagnostic;
  const std::unique_ptr<MemoryBuffer> buffer = MemoryBuffer::getMemBufferCopy(StringRef(ir), "kernels.ll");
  std::unique_ptr<Module> module = parseIR(*buffer, diagnostic, context);
  if (!module)
    error = (diagnostic.getFilename() + ":" + Twine(diagnostic.getLineNo()) + ": " + diagnostic.getMessage()).str();
  else if (!module->getTargetTriple().isNVPTX())
    error = "the emulator runs modules for nvptx64-nvidia-cuda, not '" + module->getTargetTriple().str() + "'";
  return error.empty() ? std::move(module) : nullptr;
}

std::string textOf(const std::array<uint32_t, 3> &dims) {
  return std::to_string(dims[0]) + " x " + std::to_string(dims[1]) + " x " + std::to_string(dims[2]);
}

/// CUDA programming guide, "Thread block clusters": of those that every device has.
constexpr uint32_t kMostOfCluster = 8;

/// Why a launch cannot be run, or "".
std::string refusal(const Launch &launch, const KernelFacts &kernel, uint32_t sharedBytes) {
  const auto [x, y, z] = launch.threads;
  if (kernel.threads[0] && kernel.threads != launch.threads)
    return "it is compiled for blocks of " + textOf(kernel.threads) + " threads, not " + textOf(launch.threads);
  if (!(uint64_t{x} * y * z) || uint64_t{x} * y * z > 1024)
    return "blocks of " + textOf(launch.threads) + " threads are outside of 1 to 1024";
  if (kernel.cluster[1] != 1 || kernel.cluster[2] != 1 || kernel.cluster[0] > kMostOfCluster)
    return "it has clusters of " + textOf(kernel.cluster) + " blocks; the emulator knows those of up to " + std::to_string(kMostOfCluster) +
           " along x";
  if (launch.grid[0] % kernel.cluster[0])
    return "its grid of " + std::to_string(launch.grid[0]) + " blocks along x is no multiple of its clusters of " +
           std::to_string(kernel.cluster[0]);
  if (launch.arguments.size() != kernel.parameters)
    return "it has " + std::to_string(kernel.parameters) + " parameters, but " + std::to_string(launch.arguments.size()) +
           " arguments came";
  if (sharedBytes > SharedMemory::kMaxBytes)
    return "it needs " + std::to_string(sharedBytes) + " bytes of shared memory, more than " + std::to_string(SharedMemory::kMaxBytes);
  return "";
}
} // namespace

std::string Outcome::text() const {
  std::string text;
  for (const Report &report : reports)
    text += report.text() + "\n";
  return text;
}

Program::Program(std::unique_ptr<Code> code) : code(std::move(code)) {}
Program::~Program() = default;

/// Compiles a lowered module and finds its kernels. False with 'error' where that fails.
bool Program::Code::compile(const Module &module, std::string &error) {
  abi::Text why = nullptr;
  auto isDone = [&](abi::Ending ending) {
    if (ending == abi::Ending::noMemory)
      throw std::bad_alloc();
    if (ending == abi::Ending::failed)
      error = why;
    std::free(why);
    return ending == abi::Ending::done;
  };
  const std::string bitcode = bitcodeOf(module);
  std::deque<std::string> names;
  const std::vector<abi::Symbol> symbols = hostSymbols(names);
  if (!isDone(compiler.compile(bitcode.data(), bitcode.size(), symbols.data(), symbols.size(), &host, &why)))
    return false;
  for (const auto &[name, kernel] : lowered.kernels) {
    void *caller = nullptr;
    if (!isDone(compiler.find(host, kernel.caller.c_str(), &caller, &why)))
      return false;
    callers[name] = reinterpret_cast<Caller>(caller);
  }
  return true;
}

std::unique_ptr<Program> Program::load(std::string_view ir, const abi::HostCompiler &compiler, std::string &error) {
  LLVMContext context;
  std::unique_ptr<Module> module = parse(ir, context, error);
  if (!module)
    return nullptr;
  module->setTargetTriple(Triple(compiler.triple));
  module->setDataLayout(compiler.layout);
  auto code = std::make_unique<Code>(compiler);
  if (!lowerModule(*module, code->lowered, error))
    return nullptr;
  StripDebugInfo(*module); // reports have their places by now, and compiling with them takes longer
  if (!code->compile(*module, error))
    return nullptr;
  return std::unique_ptr<Program>(new Program(std::move(code)));
}

bool Program::run(const Launch &launch, GlobalMemory &memory, Outcome &outcome, std::string &error) {
  auto found = code->lowered.kernels.find(launch.kernel);
  if (found == code->lowered.kernels.end()) {
    error = "the module has no kernel '" + launch.kernel + "'";
    return false;
  }
  const uint32_t sharedBytes = found->second.sharedBytes + launch.dynamicSharedBytes;
  if (const std::string why = refusal(launch, found->second, sharedBytes); !why.empty()) {
    error = "kernel '" + launch.kernel + "' cannot be launched: " + why;
    return false;
  }
  Findings findings;
  const LaunchContext context{code->callers.at(launch.kernel),
                              launch.arguments.data(),
                              code->lowered.ops,
                              launch.grid,
                              launch.threads,
                              found->second.cluster[0],
                              sharedBytes,
                              found->second.registers,
                              launch.seed,
                              launch.turns,
                              launch.interrupt,
                              memory,
                              findings,
                              outcome.counters};
  Cluster cluster(context);
  if (!cluster.isValid()) {
    error = "the machine has no memory for the stacks of a block";
    return false;
  }
  memory.startLaunch();
  bool goesOn = true;
  for (uint32_t z = 0; z < launch.grid[2] && goesOn; ++z)
    for (uint32_t y = 0; y < launch.grid[1] && goesOn; ++y)
      for (uint32_t x = 0; x < launch.grid[0] && goesOn; x += cluster.size())
        goesOn = cluster.run({x, y, z}) && !(outcome.isInterrupted = launch.interrupt());
  outcome.isInterrupted |= cluster.isInterrupted();
  outcome.reports = findings.take();
  return true;
}
} // namespace logitile::emulator
