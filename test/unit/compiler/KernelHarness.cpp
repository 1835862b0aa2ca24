// KernelHarness.cpp - the road from text to machine code and a loop over tasks.
#include "test/unit/compiler/KernelHarness.h"
#include "compiler/Backends/CPU/Passes.h"
#include "compiler/Passes.h"
#include "compiler/Registry.h"
#include "compiler/Target/Backend.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>
#include <thread>
using namespace mlir;
using namespace logitile;

/// Milliseconds that this thread worked: other processes do not count.
static double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * time.tv_sec + 1e-6 * time.tv_nsec;
}
/// Milliseconds since 'start', which becomes now.
static double lap(double &start) {
  double before = start;
  start = now();
  return start - before;
}

/// Reads off the IR what a launch plan would say of a kernel.
struct KernelHarness::Describer {
  static std::string roleOf(KernelOp kernel, Value value) {
    auto argument = cast<BlockArgument>(value);
    std::optional<ScalarRole> scalar = kernel.scalarOf(argument);
    return (scalar ? stringifyScalarRole(*scalar) : kernel.bufferOf(argument).getValue()).str();
  }
  static void setBound(KernelOp kernel, OpFoldResult bound, int64_t &constant, std::string &role) {
    if (std::optional<int64_t> known = getConstantIntValue(bound))
      constant = *known;
    else
      role = roleOf(kernel, cast<Value>(bound));
  }
  static Kernel describe(KernelOp kernel) {
    Kernel result;
    for (BlockArgument argument : kernel.getBody().getArguments())
      result.roles.push_back({roleOf(kernel, argument), isa<ViewType>(argument.getType())});
    for (auto forall : kernel.getBody().getOps<scf::ForallOp>())
      for (unsigned axis = 0; axis < forall.getRank(); ++axis) {
        Axis &bounds = result.axes.emplace_back();
        setBound(kernel, forall.getMixedLowerBound()[axis], bounds.lower, bounds.lowerRole);
        setBound(kernel, forall.getMixedUpperBound()[axis], bounds.upper, bounds.upperRole);
        setBound(kernel, forall.getMixedStep()[axis], bounds.step, bounds.stepRole);
      }
    return result;
  }
};

static LogicalResult runPasses(ModuleOp module, function_ref<void(PassManager &)> add) {
  PassManager passes(module.getContext());
  add(passes);
  return passes.run(module);
}

std::unique_ptr<KernelHarness> KernelHarness::compile(const std::string &text, CpuTier tier, std::string &error) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(error) << diagnostic.getLocation() << ": " << diagnostic.str() << "\n";
  });
  auto harness = std::make_unique<KernelHarness>();
  double clock = now();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  harness->times.parse = lap(clock);
  if (!module)
    return nullptr;
  bool hasPrograms = !module->getOps<ProgramOp>().empty();
  auto specialise = [](PassManager &passes) {
    passes.addPass(createSpecialisePass());
    passes.addPass(createCanonicalizerPass());
  };
  if (hasPrograms && failed(runPasses(*module, specialise)))
    return nullptr;
  for (KernelOp kernel : module->getOps<KernelOp>())
    harness->kernels[kernel.getSymName().str()] = Describer::describe(kernel);
  harness->times.specialise = lap(clock);
  ConvertTilesToCPUPassOptions options;
  options.target = targetName(tier);
  if (failed(runPasses(*module, [&](PassManager &passes) { passes.addPass(createConvertTilesToCPUPass(options)); })))
    return nullptr;
  for (auto &[name, kernel] : harness->kernels)
    kernel.scratchBytes = (*module).lookupSymbol(name)->getAttrOfType<IntegerAttr>("logitile.scratch_bytes").getInt();
  harness->times.tiles = lap(clock);
  FailureOr<std::string> object = findTarget(targetName(tier), error)->emitCode(*module, nullptr);
  harness->times.object = lap(clock);
  if (failed(object))
    return nullptr;
  harness->objectBytes = object->size();
  harness->code = ObjectLoader::load(*object, error);
  if (!harness->code)
    return nullptr;
  for (auto &[name, kernel] : harness->kernels)
    if (!(kernel.function = harness->code->find(name, error)))
      return nullptr;
  harness->times.load = lap(clock);
  return harness;
}

void KernelHarness::run(const std::string &name, int threads) {
  Kernel &kernel = kernels.at(name);
  std::vector<int64_t> words;
  for (auto &[role, isView] : kernel.roles) {
    if (!isView) {
      words.push_back(scalars.at(role));
      continue;
    }
    const Bound &view = views.at(role);
    words.insert(words.end(), {reinterpret_cast<int64_t>(view.data), view.stride0, view.stride1});
  }
  int64_t tasks = 1;
  for (const Axis &axis : kernel.axes) {
    int64_t lower = valueOf(axis.lowerRole, axis.lower), upper = valueOf(axis.upperRole, axis.upper),
            step = valueOf(axis.stepRole, axis.step);
    tasks *= std::max<int64_t>(0, (upper - lower + step - 1) / step);
  }
  scratch.resize(std::max<size_t>(scratch.size(), threads));
  Checkpoint never{[](Checkpoint *) -> int32_t { return 0; }};
  auto work = [&](int thread) {
    std::vector<char> &memory = scratch[thread];
    memory.resize(std::max<size_t>(memory.size(), kernel.scratchBytes + 64));
    void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~uintptr_t(63));
    for (int64_t task = thread; task < tasks; task += threads)
      kernel.function(words.data(), task, aligned, &never);
  };
  std::vector<std::thread> helpers;
  for (int thread = 1; thread < threads; ++thread)
    helpers.emplace_back(work, thread);
  work(0);
  for (std::thread &helper : helpers)
    helper.join();
}
