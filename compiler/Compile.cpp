// Compile.cpp - drives the stages: parse, run each stage's passes, read the plan, emit code. The
// passes of a stage are in Pipelines.cpp.
#include "compiler/Compile.h"
#include "compiler/Codegen/LLVMTarget.h"
#include "compiler/Pipelines.h"
#include "compiler/Registry.h"
#include "compiler/RequestAttr.h"
#include "compiler/Schedule/BuildPlan.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Target/ModuleTarget.h"
#include "compiler/Text/Confinement.h"
#include "compiler/Text/UncheckedText.h"
#include "compiler/Trace/ModuleLines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <chrono>
using namespace mlir;
using namespace logitile;

namespace {
/// One compilation: a context, the module in it, and what went wrong.
class Compilation {
public:
  Compilation(Stage from, Cancellation *cancellation)
      : context(dialectsIn(from), MLIRContext::Threading::DISABLED), diagnostics(&context), cancellation(cancellation) {
    context.printOpOnDiagnostic(false); // it may be the whole module; LOGITILE_REPRODUCER asks for that
    context.loadDialect<LogitileDialect>(); // for the request, also of a text without any op of it
    if (cancellation) // what remains of a stage is skipped; runStage then fails
      context.registerActionHandler([cancellation](function_ref<void()> act, const tracing::Action &) {
        if (!cancellation->isRequested())
          act();
      });
    notePasses(context);
  }

  /// Parses the spec of 'request' and attaches the request to its module.
  bool parse(const CompileRequest &request) {
    if (!parse(request.locatedSpec.empty() ? request.spec : request.locatedSpec, Stage::Spec))
      return false;
    if (auto losses = module->getOps<LossOp>(); !llvm::hasSingleElement(losses)) {
      module->emitError() << "must hold one loss, has " << std::distance(losses.begin(), losses.end());
      return false;
    }
    RequestAttr attr = makeRequestAttr(&context, request, [&] { return module->emitError(); });
    if (!attr)
      return false;
    (*module)->setAttr(kRequestAttrName, attr);
    return true;
  }
  /// Parses a text that has a request.
  bool parse(const StageInput &input) {
    return parse(input.text, input.stage, input.file) && (input.target.empty() || retarget(input.target));
  }
  /// 'file' is what places call the text; "" for the stage's name.
  bool parse(const std::string &text, Stage stage, StringRef file = "") {
    at = stage;
    noteStage(stage);
    StringRef name = file.empty() ? StringRef(stageName(stage)) : file;
    if (std::string reason = findUnparsable(text, name); !reason.empty()) {
      emitError(UnknownLoc::get(&context)) << reason;
      return false;
    }
    ParserConfig config(&context, /*verifyAfterParse=*/false);
    module = parseSourceString<ModuleOp>(text, config, name);
    bool done = module && succeeded(checkParsed(*module)) && succeeded(verify(*module));
    context.appendDialectRegistry(dialects());
    return done;
  }

  /// Runs the stages up to 'to'; stops before code is emitted.
  bool lower(Stage to) {
    std::pair<Stage, void (*)(PassManager &)> const steps[] = {{Stage::Plan, buildPlanStage}, {Stage::Tiles, buildTilesStage}};
    for (auto [stage, build] : steps) {
      if (stage <= at || stage > to)
        continue;
      if (!runStage(stage, build))
        return false;
      if (stage == Stage::Tiles && !readPlan())
        return false;
    }
    return to < Stage::Device || at >= Stage::Device || lowerToDevice();
  }

  /// Null with a diagnostic where the module has none.
  std::shared_ptr<const Target> target() {
    FailureOr<std::shared_ptr<const Target>> target = chooseTarget(*module);
    return succeeded(target) ? *target : nullptr;
  }

  /// The plan of a text whose launches are chosen already. Of the device stage it is read from
  /// kernels that are made once more from the program in the text: functions do not say how they
  /// are launched.
  bool readPlanOfText() {
    if (at < Stage::Tiles)
      return true; // lower reads it
    if (at == Stage::Tiles)
      return readPlan();
    OwningOpRef<ModuleOp> edited = std::move(module);
    module = cast<ModuleOp>(edited->clone());
    for (Operation &op : llvm::make_early_inc_range(*module->getBody()))
      if (!isa<ProgramOp>(op))
        op.erase();
    bool done = runStage(Stage::Tiles, buildTilesStage) && readPlan();
    if (done)
      noteSharedCode();
    module = std::move(edited);
    at = Stage::Device;
    return done;
  }

  /// Functions have the names of the kernels that they were made of.
  void noteSharedCode() {
    for (KernelOp kernel : module->getOps<KernelOp>())
      if (std::optional<StringRef> code = kernel.getCode())
        sharedCode[kernel.getSymName()] = code->str();
  }

  /// A kernel, or the function that it runs; null where there is none of that name.
  Operation *find(const std::string &kernel) {
    auto shared = sharedCode.find(kernel);
    Operation *op = module->lookupSymbol(shared == sharedCode.end() ? kernel : shared->second);
    return isa_and_nonnull<KernelOp, func::FuncOp, LLVM::LLVMFuncOp>(op) ? op : nullptr;
  }

  /// Leaves a kernel of the device stage, and what it calls.
  bool keepOnly(const std::string &kernel) {
    Operation *kept = find(kernel);
    if (!kept) {
      module->emitError() << "has no kernel '" << kernel << "' at this stage";
      return false;
    }
    for (auto symbol : module->getOps<SymbolOpInterface>())
      if (symbol != kept)
        symbol.setPrivate();
    PassManager passes(module->getContext());
    passes.addPass(createSymbolDCEPass());
    return succeeded(passes.run(*module));
  }

  /// Text with the names that skeletons and losses give their values.
  std::string print(const std::string &kernel) {
    OpPrintingFlags flags;
    flags.printNameLocAsPrefix();
    std::string text;
    llvm::raw_string_ostream os(text);
    if (kernel.empty()) {
      module->print(os, flags);
      return text;
    }
    if (Operation *op = find(kernel)) {
      op->print(os, flags);
      return text;
    }
    module->emitError() << "has no kernel '" << kernel << "' at this stage";
    return {};
  }

  template <typename Emit>
  bool time(Stage stage, Emit emit) {
    at = stage;
    auto begin = std::chrono::steady_clock::now();
    bool done = emit();
    times.push_back({stage, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count()});
    return done;
  }

  /// What passes make of a text.
  static DialectRegistry dialects() {
    DialectRegistry registry;
    registerDialects(registry); // anew each time: backends may have been added
    return registry;
  }
  /// What a text of 'stage' may hold.
  static DialectRegistry dialectsIn(Stage stage) {
    if (stage > Stage::Tiles)
      return dialects();
    DialectRegistry registry;
    registerTileDialects(registry);
    return registry;
  }

  /// Code of the module. Fails with a diagnostic.
  FailureOr<std::string> emit(const Target &target) {
    try {
      return target.emitCode(*module, cancellation);
    } catch (const Cancelled &) {
      static_cast<void>(failIfCancelled());
      return failure();
    }
  }

  MLIRContext context;
  DiagnosticCollector diagnostics;
  Cancellation *const cancellation; // null: nobody stops it
  OwningOpRef<ModuleOp> module;
  Stage at = Stage::Spec;
  LaunchPlan plan;
  llvm::StringMap<std::string> sharedCode; // of kernels that run the code of another one
  std::string reproducer;
  std::vector<StageTime> times;
  std::vector<TracedStage> *trace = nullptr; // where stages are kept, if anywhere

  void addToTrace(Stage stage, std::vector<TracedPass> passes) {
    trace->push_back(traceModule(*module, stageName(stage)));
    trace->back().passes = std::move(passes);
  }

private:
  /// Puts another target into the request. From the plan stage on, much is chosen for a kind of
  /// target.
  bool retarget(const std::string &name) {
    std::shared_ptr<const Target> own = target();
    std::string error;
    std::shared_ptr<const Target> other = own ? findTarget(name, error) : nullptr;
    if (!own || !other) {
      if (!error.empty())
        module->emitError() << "cannot be compiled: " << error;
      return false;
    }
    if (at > Stage::Spec && own->backend.kind() != other->backend.kind()) {
      module->emitError() << "is made for target '" << own->name() << "'; only the text of stage 'spec' can be compiled for '" << name << "'";
      return false;
    }
    (*module)->setAttr(kRequestAttrName, getRequest(*module).withTarget(name));
    return true;
  }
  LogicalResult failIfCancelled() {
    if (!cancellation || !cancellation->isRequested())
      return success();
    return module->emitError() << "is not compiled: no caller waits for it any more";
  }
  bool lowerToDevice() {
    std::shared_ptr<const Target> device = target();
    if (!device)
      return false;
    noteSharedCode();
    return runStage(Stage::Device, [&](PassManager &passes) { device->addDevicePasses(passes); });
  }
  bool runStage(Stage stage, function_ref<void(PassManager &)> build) {
    auto pm = PassManager::on<ModuleOp>(&context);
    pm.enableVerifier(false); // what a stage makes is verified once, at its end
    build(pm);
    // Kept until the stage is through: what went into a stage that fails is its reproducer.
    std::string before;
    if (std::getenv("LOGITILE_REPRODUCER"))
      before = print("");
    std::vector<TracedPass> passes;
    if (trace)
      pm.addInstrumentation(std::make_unique<PassRecorder>(*module, passes));
    bool done = time(stage, [&] { return succeeded(pm.run(*module)) && succeeded(failIfCancelled()) && succeeded(verify(*module)); });
    if (!done)
      reproducer = before;
    else if (trace)
      addToTrace(stage, std::move(passes));
    return done;
  }
  bool readPlan() {
    FailureOr<LaunchPlan> read = buildPlan(*module);
    if (failed(read))
      return false;
    plan = *read;
    return true;
  }
};

/// Scratch sizes and blocks are known once tiles have become functions.
void readKernels(ModuleOp module, LaunchPlan &plan) {
  for (KernelPlan &kernel : plan.kernels) {
    Operation *function = module.lookupSymbol(kernel.function());
    auto read = [&](StringRef name, int64_t &to) {
      if (auto value = function ? function->getAttrOfType<IntegerAttr>(name) : IntegerAttr())
        to = value.getInt();
    };
    read("logitile.scratch_bytes", kernel.scratchBytes);
    read("logitile.threads", kernel.threads);
    read("logitile.shared_bytes", kernel.sharedBytes);
    if (auto maps = function ? function->getAttrOfType<ArrayAttr>("logitile.tensor_maps") : ArrayAttr())
      for (auto map : maps.getAsRange<DenseI64ArrayAttr>())
        kernel.tensorMaps.push_back({map[0], map[1], map[2]});
  }
}

StageText print(Compilation &compilation, bool parsed, Stage to, const std::string &kernel) {
  StageText result;
  auto fail = [&] {
    result.error = compilation.diagnostics.text();
    result.failed = compilation.at;
    return result;
  };
  if (!parsed || !compilation.lower(std::min(to, Stage::Device)))
    return fail();
  if (to <= Stage::Device) {
    std::string text = compilation.print(kernel);
    if (text.empty())
      return fail();
    result.text = text;
    return result;
  }
  std::shared_ptr<const Target> target = compilation.target();
  if (!target || (!kernel.empty() && !compilation.keepOnly(kernel)))
    return fail();
  if (to == Stage::Llvm && target->asLLVM()) {
    result.text = target->asLLVM()->emitText(*compilation.module);
    return result.text->empty() ? fail() : result;
  }
  if (to != target->codeStage()) {
    compilation.module->emitError() << "has no stage '" << stageName(to) << "': the code of target '" << target->name() << "' is stage '"
                                    << stageName(target->codeStage()) << "'; give another target";
    compilation.at = to;
    return fail();
  }
  FailureOr<std::string> code = compilation.emit(*target);
  if (failed(code))
    return fail();
  result.text = *code;
  return result;
}
} // namespace

/// What a compilation left, where it has no plan.
static void readOutcome(Compilation &compilation, CompileResult &result) {
  result.failed = compilation.at;
  result.reproducer = compilation.reproducer;
  if (!compilation.module)
    return;
  ModuleOp module = *compilation.module;
  if (auto least = module->getAttrOfType<IntegerAttr>(kMinimumWorkspaceAttrName))
    result.minimumWorkspace = least.getInt();
  if (auto predicted = module->getAttrOfType<FloatAttr>(kPredictedSecondsAttrName))
    result.predictedSeconds = predicted.getValueAsDouble();
}

CompileResult logitile::predictRequest(const CompileRequest &request) {
  CompileResult result;
  Compilation compilation(Stage::Spec, request.cancellation);
  bool parsed = compilation.parse(request);
  if (parsed)
    setUnitRates(*compilation.module, request.rates);
  if (!parsed || !compilation.lower(Stage::Plan))
    result.error = compilation.diagnostics.text();
  readOutcome(compilation, result);
  return result;
}

/// The plan with its code, of a module that is parsed.
static CompileResult finish(Compilation &compilation, bool parsed) {
  CompileResult result;
  std::shared_ptr<const Target> target;
  std::string code;
  bool done = parsed && (target = compilation.target()) && compilation.lower(Stage::Device);
  if (done) {
    readKernels(*compilation.module, compilation.plan);
    done = compilation.time(target->codeStage(), [&] {
      FailureOr<std::string> emitted = compilation.emit(*target);
      if (succeeded(emitted))
        code = std::move(*emitted);
      return succeeded(emitted);
    });
  }
  result.times = compilation.times;
  if (done) {
    compilation.plan.code = std::move(code);
    result.plan = std::move(compilation.plan);
    return result;
  }
  result.error = compilation.diagnostics.text();
  readOutcome(compilation, result);
  return result;
}

CompileResult logitile::compileRequest(const CompileRequest &request) {
  Compilation compilation(Stage::Spec, request.cancellation);
  return finish(compilation, compilation.parse(request));
}

CompileResult logitile::compileText(const StageInput &input) {
  if (input.stage > Stage::Device) {
    CompileResult result;
    result.error = "the text of stage '" + std::string(stageName(input.stage)) + "' does not say how kernels are launched; begin with stage '" +
                   std::string(stageName(Stage::Device)) + "' or an earlier one";
    result.failed = input.stage;
    return result;
  }
  Compilation compilation(input.stage, nullptr);
  return finish(compilation, compilation.parse(input) && compilation.readPlanOfText());
}

StageText logitile::printStage(const CompileRequest &request, Stage to, const std::string &kernel) {
  Compilation compilation(Stage::Spec, request.cancellation);
  return print(compilation, compilation.parse(request), to, kernel);
}
StageTrace logitile::traceStages(const CompileRequest &request) {
  StageTrace result;
  Compilation compilation(Stage::Spec, request.cancellation);
  bool done = compilation.parse(request);
  if (done) {
    compilation.trace = &result.stages;
    compilation.addToTrace(Stage::Spec, {});
    done = compilation.lower(Stage::Device);
  }
  std::shared_ptr<const Target> target = done ? compilation.target() : nullptr;
  if (target && target->asLLVM())
    done = succeeded(target->asLLVM()->traceCode(*compilation.module, result.stages));
  if (done)
    return result;
  result.error = compilation.diagnostics.text();
  result.failed = compilation.at;
  return result;
}
StageText logitile::printStage(const StageInput &input, Stage to, const std::string &kernel) {
  if (input.stage == Stage::Llvm) { // no MLIR any more
    StageText result;
    noteStage(input.stage);
    FailureOr<std::string> code = LLVMTarget::emitCode(input.text, to, result.error);
    result.failed = input.stage;
    if (succeeded(code))
      result.text = *code;
    return result;
  }
  Compilation compilation(input.stage, nullptr);
  return print(compilation, compilation.parse(input), to, kernel);
}
