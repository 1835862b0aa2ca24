// SeededKernels.cpp - compiling, editing and running.
#include "test/unit/emulator/SeededKernels.h"
#include "compiler/Registry.h"
#include "compiler/Target/Backend.h"
#include "mlir/Parser/Parser.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <random>
#include <regex>
using namespace logitile;
using namespace logitile::test;

constexpr int64_t kRows = 70, kEntries = 600;
static constexpr char kSpec[] = R"(module {
  logitile.loss @biased vocab 600 outputs ["loss"]$GRADIENT {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %bias = logitile.input vocab "bias" : f32
    %b = arith.addf %z, %bias : f32
    %lse = logitile.reduce logsumexp %b : f32 -> f32
    %picked = logitile.gather %b[%target] : f32
    %loss = arith.subf %lse, %picked : f32
    logitile.yield %loss : f32
  }
})";

// ---- text ---------------------------------------------------------------------------------------

KernelText::KernelText(std::string module, const std::string &kernel) {
  size_t start = module.find("llvm.func @" + kernel + "("), end = module.find("\n  }\n", start);
  if (start == std::string::npos || end == std::string::npos) {
    ADD_FAILURE() << "there is no kernel " << kernel;
    return;
  }
  before = module.substr(0, start);
  body = module.substr(start, end - start);
  after = module.substr(end);
}

void KernelText::replace(const std::string &pattern, const std::string &replacement, int which, int count) {
  const std::regex regex(pattern);
  std::vector<std::smatch> matches(std::sregex_iterator(body.begin(), body.end(), regex), std::sregex_iterator());
  if (static_cast<int>(matches.size()) != count) {
    ADD_FAILURE() << matches.size() << " places match " << pattern << ", not " << count;
    return;
  }
  const std::smatch match = matches[which];
  const std::string changed = match.prefix().str() + match.format(replacement) + match.suffix().str();
  // The prefix of a later match starts where the one before ends.
  body = body.substr(0, match.position() - match.prefix().length()) + changed;
}

// ---- programs -----------------------------------------------------------------------------------

static CompileRequest requestFor(SeededProgram::Schedule schedule, ElementType element, int64_t hidden) {
  using Schedule = SeededProgram::Schedule;
  const bool makesGradients = schedule != Schedule::Forward, isOfPairs = schedule == Schedule::Pairs;
  const bool isOfWarpgroups = isOfPairs || schedule == Schedule::Warpgroups;
  CompileRequest request;
  request.spec = kSpec;
  request.spec.replace(request.spec.find("$GRADIENT"), 9, makesGradients ? R"( gradient of ["loss"] wrt ["z", "bias"])" : "");
  request.projections = {{"z", hidden, element, element, element}};
  if (makesGradients)
    request.gradients = {{"z", OperandPart::Hidden, element}, {"z", OperandPart::Weight, element}, {"bias", OperandPart::Input, ElementType::F32}};
  request.mode = makesGradients ? Mode::Early : Mode::Forward;
  request.tokens = kRows;
  request.chunks = 1;
  request.target = isOfWarpgroups ? "emu:sm_90a" : "emu:sm_80";
  request.threads = 1;
  request.tiles = {{"TM", 32}, {"TN", 32}, {"TD", 32}, {"TKproject", 16}, {"TKhidden", 16}, {"TKweight", 16}};
  if (isOfWarpgroups)
    request.tiles = {{"TM", 64},      {"TN", 64},        {"TD", 64}, {"TKproject", 32}, {"TKhidden", 32},
                     {"TKweight", 32}, {"cluster", isOfPairs ? 2 : 1}};
  return request;
}

SeededProgram::SeededProgram(Schedule schedule, ElementType element, int64_t hidden) : request(requestFor(schedule, element, hidden)) {
  CompileResult result = compileRequest(request);
  StageText text = printStage(request, Stage::Device, "");
  if (!result.plan || !text.text) {
    ADD_FAILURE() << result.error << text.error;
    return;
  }
  plan = *result.plan;
  device = *text.text;
}

/// What the emulator takes, made as for kernels that were not edited.
static std::string emulatedCode(const std::string &target, const std::string &device) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(device, &context);
  llvm::FailureOr<std::string> code = llvm::failure();
  std::string error;
  if (module)
    code = findTarget(target, error)->emitCode(*module, nullptr);
  EXPECT_TRUE(llvm::succeeded(code)) << "the edited text is not valid";
  return llvm::succeeded(code) ? *code : std::string();
}

// ---- calls --------------------------------------------------------------------------------------

SeededCall::SeededCall(const SeededProgram &program, const std::string &device) {
  LaunchPlan plan = program.plan;
  plan.code = emulatedCode(program.request.target, device);
  loaded = load(plan, std::make_shared<EmulatorDevice>(std::make_shared<Workspace>(0)));
  const ProjectionPlan &pair = program.request.projections.front();
  ElementType type = pair.element;
  inputs = {{"z.hidden", type, {kRows, pair.hidden}},
            {"z.weight", type, {kEntries, pair.hidden}},
            {"target", ElementType::I64, {kRows}},
            {"bias", ElementType::F32, {kEntries}}};
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (TestArray &input : inputs)
    for (int64_t i = 0; i < input.elements(); ++i)
      input.set(i, input.name == "target" ? static_cast<double>(random() % kEntries) : normal(random));
  outputs = {{"loss", ElementType::F32, {kRows}}};
  if (!program.request.gradients.empty())
    gradients = {{"z.hidden", type, {kRows, pair.hidden}},
                 {"z.weight", type, {kEntries, pair.hidden}},
                 {"bias", ElementType::F32, {kEntries}}};
}

Status SeededCall::run(uint64_t seed) {
  setenv("LOGITILE_EMULATOR_SEED", std::to_string(seed).c_str(), /*overwrite=*/1);
  auto arraysOf = [](const std::vector<TestArray> &list) {
    std::vector<Array> arrays;
    for (const TestArray &array : list)
      arrays.push_back(array.array());
    return arrays;
  };
  const std::vector<Array> in = arraysOf(inputs), out = arraysOf(outputs), made = arraysOf(gradients);
  CallArguments arguments;
  arguments.inputs = in;
  arguments.outputs = out;
  arguments.gradients = made;
  report = {};
  return runForward(loaded, arguments, report).status();
}

std::vector<double> SeededCall::results() const {
  std::vector<double> values;
  for (const std::vector<TestArray> *list : {&outputs, &gradients})
    for (const TestArray &array : *list)
      for (int64_t i = 0; i < array.elements(); ++i)
        values.push_back(array.get(i));
  return values;
}

std::set<std::string> logitile::test::faultsIn(const Status &status) {
  std::set<std::string> found;
  if (status.isOk())
    return found;
  const std::string text = status.error().text;
  const std::regex head("(^|\n)([a-z-]+) in block");
  for (std::sregex_iterator at(text.begin(), text.end(), head), end; at != end; ++at)
    found.insert((*at)[2]);
  return found;
}
