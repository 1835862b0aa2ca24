// Program.cpp - compiles a lowered module for the host through ORC and runs the blocks of a launch one after another.
// What the code calls back is in the files of the instructions.
#include "runtime/emulator/Program.h"
#include "runtime/emulator/Block.h"
#include "runtime/emulator/Lower.h"
#include "runtime/emulator/Numbers.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <cmath>
#include <mutex>
using namespace llvm;
using namespace llvm::orc;

namespace logitile::emulator {
using Entry = void (*)(const void *const *arguments);

struct Program::Code {
  Lowered lowered; // generated code holds addresses of its parts, so it goes last
  std::unique_ptr<LLJIT> jit;
  std::map<std::string, Entry> entries; // by kernel
};

namespace {
// The calling convention has 16-bit numbers in the lowest bits of a register of f32; written so, the compiler needs no
// library for them itself.
float truncateToBf16(float value) { return std::bit_cast<float>(uint32_t{toBf16(value)}); }
float truncateToF16(float value) { return std::bit_cast<float>(uint32_t{toF16(value)}); }
float extendF16(float value) { return fromF16(static_cast<uint16_t>(std::bit_cast<uint32_t>(value))); }

struct HostSymbol {
  const char *name;
  void *address;
};
template <typename Result, typename... Arguments> void *addressOf(Result (*function)(Arguments...)) {
  return reinterpret_cast<void *>(function);
}
using Unary = float (*)(float);
using Binary = float (*)(float, float);

/// What the host's code generator may call for operations of LLVM IR that processors lack.
std::vector<HostSymbol> hostSymbols() {
  return {
      {"memcpy", reinterpret_cast<void *>(&std::memcpy)},
      {"memmove", reinterpret_cast<void *>(&std::memmove)},
      {"memset", reinterpret_cast<void *>(&std::memset)},
      {"__truncsfbf2", addressOf(truncateToBf16)},
      {"__truncsfhf2", addressOf(truncateToF16)},
      {"__extendhfsf2", addressOf(extendF16)},
      {"exp2f", addressOf<float, float>(static_cast<Unary>(std::exp2))},
      {"expf", addressOf<float, float>(static_cast<Unary>(std::exp))},
      {"log2f", addressOf<float, float>(static_cast<Unary>(std::log2))},
      {"logf", addressOf<float, float>(static_cast<Unary>(std::log))},
      {"tanhf", addressOf<float, float>(static_cast<Unary>(std::tanh))},
      {"sqrtf", addressOf<float, float>(static_cast<Unary>(std::sqrt))},
      {"floorf", addressOf<float, float>(static_cast<Unary>(std::floor))},
      {"ceilf", addressOf<float, float>(static_cast<Unary>(std::ceil))},
      {"truncf", addressOf<float, float>(static_cast<Unary>(std::trunc))},
      {"rintf", addressOf<float, float>(static_cast<Unary>(std::rint))},
      {"nearbyintf", addressOf<float, float>(static_cast<Unary>(std::nearbyint))},
      {"roundf", addressOf<float, float>(static_cast<Unary>(std::round))},
      {"fmodf", addressOf<float, float, float>(static_cast<Binary>(std::fmod))},
      {"fmaxf", addressOf<float, float, float>(static_cast<Binary>(std::fmax))},
      {"fminf", addressOf<float, float, float>(static_cast<Binary>(std::fmin))},
      {"powf", addressOf<float, float, float>(static_cast<Binary>(std::pow))},
      {"fmaf", addressOf<float, float, float, float>(static_cast<float (*)(float, float, float)>(std::fma))},
  };
}

Expected<JITTargetMachineBuilder> hostMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  Expected<JITTargetMachineBuilder> machine = JITTargetMachineBuilder::detectHost();
  if (machine) // the blocks are huge, come optimised and run but a few times
    machine->setCodeGenOptLevel(CodeGenOptLevel::None);
  if (machine && machine->getTargetTriple().isX86()) // whose conversions to bf16 lose subnormal numbers
    machine->addFeatures({"-avx512bf16", "-avxneconvert"});
  return machine;
}

Error defineSymbols(LLJIT &jit) {
  SymbolMap symbols;
  for (const HostSymbol &symbol : hostSymbols())
    symbols[jit.mangleAndIntern(symbol.name)] = {ExecutorAddr::fromPtr(symbol.address),
                                                 JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  return jit.getMainJITDylib().define(absoluteSymbols(std::move(symbols)));
}

Expected<std::unique_ptr<LLJIT>> compile(ThreadSafeModule owned, Lowered &lowered) {
  Module *module = owned.getModuleUnlocked();
  Expected<JITTargetMachineBuilder> builder = hostMachine();
  if (!builder)
    return builder.takeError();
  Expected<std::unique_ptr<TargetMachine>> machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  module->setTargetTriple((*machine)->getTargetTriple());
  module->setDataLayout((*machine)->createDataLayout());
  std::string error;
  if (!lowerModule(*module, lowered, error))
    return createStringError(error);
  Expected<std::unique_ptr<LLJIT>> jit = LLJITBuilder()
                                             .setJITTargetMachineBuilder(std::move(*builder))
                                             .setLinkProcessSymbolsByDefault(false)
                                             .setPlatformSetUp(setUpInactivePlatform)
                                             .create();
  if (!jit)
    return jit;
  if (Error failed = defineSymbols(**jit))
    return failed;
  if (Error failed = (*jit)->addIRModule(std::move(owned)))
    return failed;
  return jit;
}

std::string threadsText(const std::array<uint32_t, 3> &dims) {
  return std::to_string(dims[0]) + " x " + std::to_string(dims[1]) + " x " + std::to_string(dims[2]);
}

/// Why a launch cannot be run, or "".
std::string refusal(const Launch &launch, const KernelFacts &kernel, uint32_t sharedBytes) {
  const auto [x, y, z] = launch.threads;
  if (kernel.threads[0] && kernel.threads != launch.threads)
    return "it is compiled for blocks of " + threadsText(kernel.threads) + " threads, not " + threadsText(launch.threads);
  if (!(uint64_t{x} * y * z) || uint64_t{x} * y * z > 1024)
    return "blocks of " + threadsText(launch.threads) + " threads are outside of 1 to 1024";
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

std::unique_ptr<Program> Program::load(std::string_view ir, std::string &error) {
  auto context = std::make_unique<LLVMContext>();
  SMDiagnostic diagnostic;
  const std::unique_ptr<MemoryBuffer> buffer = MemoryBuffer::getMemBufferCopy(StringRef(ir), "kernels.ll");
  std::unique_ptr<Module> module = parseIR(*buffer, diagnostic, *context);
  if (!module) {
    error = (diagnostic.getFilename() + ":" + Twine(diagnostic.getLineNo()) + ": " + diagnostic.getMessage()).str();
    return nullptr;
  }
  if (!module->getTargetTriple().isNVPTX()) {
    error = "the emulator runs modules for nvptx64-nvidia-cuda, not '" + module->getTargetTriple().str() + "'";
    return nullptr;
  }
  auto code = std::make_unique<Code>();
  Expected<std::unique_ptr<LLJIT>> jit = compile(ThreadSafeModule(std::move(module), std::move(context)), code->lowered);
  if (!jit) {
    error = toString(jit.takeError());
    return nullptr;
  }
  code->jit = std::move(*jit);
  for (const auto &[name, kernel] : code->lowered.kernels) {
    Expected<ExecutorAddr> entry = code->jit->lookup(kernel.entry); // compiles it
    if (!entry) {
      error = toString(entry.takeError());
      return nullptr;
    }
    code->entries[name] = entry->toPtr<Entry>();
  }
  return std::unique_ptr<Program>(new Program(std::move(code)));
}

std::unique_ptr<Program> Program::load(const Module &module, std::string &error) {
  SmallVector<char> bitcode;
  raw_svector_ostream stream(bitcode);
  WriteBitcodeToFile(module, stream);
  return load(std::string_view(bitcode.data(), bitcode.size()), error);
}

bool Program::run(const Launch &launch, GlobalMemory &memory, Outcome &outcome, std::string &error) {
  auto found = code->lowered.kernels.find(launch.kernel);
  if (found == code->lowered.kernels.end()) {
    error = "the module has no kernel '" + launch.kernel + "'";
    return false;
  }
  const uint32_t sharedBytes = code->lowered.staticSharedBytes + launch.dynamicSharedBytes;
  if (const std::string why = refusal(launch, found->second, sharedBytes); !why.empty()) {
    error = "kernel '" + launch.kernel + "' cannot be launched: " + why;
    return false;
  }
  Findings findings;
  const LaunchContext context{code->entries.at(launch.kernel),
                              launch.arguments.data(),
                              code->lowered.ops,
                              launch.grid,
                              launch.threads,
                              sharedBytes,
                              launch.seed,
                              memory,
                              findings,
                              outcome.counters};
  Block block(context);
  if (!block.isValid()) {
    error = "the machine has no memory for the stacks of a block";
    return false;
  }
  memory.startLaunch();
  bool goesOn = true;
  for (uint32_t z = 0; z < launch.grid[2] && goesOn; ++z)
    for (uint32_t y = 0; y < launch.grid[1] && goesOn; ++y)
      for (uint32_t x = 0; x < launch.grid[0] && goesOn; ++x)
        goesOn = block.run({x, y, z}) && !(outcome.isInterrupted = launch.interrupt());
  outcome.reports = findings.take();
  return true;
}
} // namespace logitile::emulator
