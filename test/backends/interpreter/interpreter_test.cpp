// interpreter_test.cpp - a kind of device that the tree does not know: two registrations, then
// losses and gradients as on any other.
#include "compiler/Target/Backend.h"
#include "runtime/engine/Describe.h"
#include "runtime/engine/Compiler.h"
#include "test/backends/interpreter/InterpreterDevice.h"
#include "test/backends/interpreter/InterpreterTarget.h"
#include "test/unit/runtime/RuntimeCalls.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
using namespace logitile;
using namespace logitile::test;

namespace {
constexpr int64_t kRows = 21, kSize = 10, kEntries = 45; // no multiple of a tile on any axis
constexpr char kTarget[] = "interpreter:scalar";
constexpr char kSpec[] = R"(module {
  logitile.loss @cross_entropy vocab 45 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %lse = logitile.reduce logsumexp %z : f32 -> f32
    %picked = logitile.gather %z[%target] : f32
    %loss = arith.subf %lse, %picked : f32
    logitile.yield %loss : f32
  }
})";

bool registerOnce() {
  static const bool isNew = registerBackend(interpreter::makeBackend()) && registerPlatform(interpreter::makePlatform());
  return isNew;
}

Request requestFor(const std::string &target) {
  Request request;
  request.spec = kSpec;
  request.projections = {{"z", kSize, ElementType::F32, ElementType::F32, ElementType::F32}};
  request.gradients = {{"z", OperandPart::Hidden, ElementType::F32}, {"z", OperandPart::Weight, ElementType::F32}};
  request.mode = Mode::Early;
  request.chunks = 2;
  request.target = target;
  request.threads = 1;
  return request;
}

/// Inputs of one call, and what it makes of them.
struct Results {
  TestArray hidden{"z.hidden", ElementType::F32, {kRows, kSize}}, weight{"z.weight", ElementType::F32, {kEntries, kSize}};
  TestArray target{"target", ElementType::I64, {kRows}}, loss{"loss", ElementType::F32, {kRows}};
  TestArray hiddenGradient = {"z.hidden", ElementType::F32, {kRows, kSize}}, weightGradient = {"z.weight", ElementType::F32, {kEntries, kSize}};

  explicit Results(const std::string &targetName) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    for (TestArray *array : {&hidden, &weight})
      for (int64_t i = 0; i < array->elements(); ++i)
        array->set(i, normal(random));
    for (int64_t i = 0; i < kRows; ++i)
      target.set(i, i % 7 == 3 ? -100 : static_cast<double>(random() % kEntries)); // some tokens do not count
    run(targetName);
  }

private:
  void run(const std::string &targetName) {
    const std::shared_ptr<Engine> engine = makeEngine({});
    Result<Program> program = engine->makeProgram(requestFor(targetName));
    ASSERT_TRUE(program.isOk()) << program.status().error().text;
    Result<PlanUse> plan = engine->findPlan(*program, kRows);
    ASSERT_TRUE(plan.isOk()) << plan.status().error().text;
    const std::vector<Array> inputs = {hidden.array(), weight.array(), target.array()};
    const std::vector<Array> outputs = {loss.array()}, gradients = {hiddenGradient.array(), weightGradient.array()};
    CallArguments arguments;
    arguments.inputs = inputs;
    arguments.outputs = outputs;
    arguments.gradients = gradients;
    arguments.ignore = "target";
    arguments.ignoreIndex = -100;
    Status status = engine->forward(plan->loaded, arguments).status();
    ASSERT_TRUE(status.isOk()) << status.error().text;
  }
};

/// Probabilities of one token in f64, and its loss.
struct Exact {
  std::vector<double> probabilities;
  double loss = 0;

  Exact(const Results &from, int64_t token) {
    double sum = 0;
    std::vector<double> logits;
    for (int64_t v = 0; v < kEntries; ++v) {
      double logit = 0;
      for (int64_t d = 0; d < kSize; ++d)
        logit += from.hidden.get(token * kSize + d) * from.weight.get(v * kSize + d);
      logits.push_back(logit);
      sum += std::exp(logit);
    }
    for (double logit : logits)
      probabilities.push_back(std::exp(logit) / sum);
    if (isCounted(from, token))
      loss = std::log(sum) - logits[static_cast<size_t>(from.target.get(token))];
  }
  static bool isCounted(const Results &from, int64_t token) { return from.target.get(token) >= 0; }
};
} // namespace

TEST(Interpreter, IsKnownAfterTwoRegistrations) {
  std::string error;
  if (!findTarget(kTarget, error)) {
    EXPECT_NE(error.find("names begin with 'cpu:', 'cuda:', 'emu:'"), std::string::npos) << error;
    EXPECT_EQ(findPlatform(kTarget).status().error().code, ErrorCode::Target);
  }
  EXPECT_TRUE(registerOnce());
  EXPECT_TRUE(findTarget(kTarget, error)) << error;
  EXPECT_TRUE(findPlatform(kTarget).isOk());
  EXPECT_FALSE(registerBackend(interpreter::makeBackend())); // the names are taken
  EXPECT_FALSE(registerPlatform(interpreter::makePlatform()));
  Result<std::string> described = describeTarget(kTarget);
  ASSERT_TRUE(described.isOk());
  EXPECT_NE(described->find(R"("stages":["spec","plan","tiles","device"])"), std::string::npos) << *described;
}

TEST(Interpreter, LossesAreThoseOfF64) {
  registerOnce();
  const Results results(kTarget);
  for (int64_t token = 0; token < kRows; ++token)
    EXPECT_NEAR(results.loss.get(token), Exact(results, token).loss, 2e-6) << "token " << token;
}

TEST(Interpreter, GradientsAreThoseOfF64) {
  registerOnce();
  const Results results(kTarget);
  std::vector<double> ofWeight(kEntries * kSize);
  for (int64_t token = 0; token < kRows; ++token) {
    const Exact exact(results, token);
    std::vector<double> ofHidden(kSize);
    for (int64_t v = 0; v < kEntries && Exact::isCounted(results, token); ++v) {
      const double ofLogit = exact.probabilities[v] - (results.target.get(token) == static_cast<double>(v));
      for (int64_t d = 0; d < kSize; ++d) {
        ofHidden[d] += ofLogit * results.weight.get(v * kSize + d);
        ofWeight[v * kSize + d] += ofLogit * results.hidden.get(token * kSize + d);
      }
    }
    for (int64_t d = 0; d < kSize; ++d)
      EXPECT_NEAR(results.hiddenGradient.get(token * kSize + d), ofHidden[d], 2e-6) << "token " << token;
  }
  for (int64_t i = 0; i < kEntries * kSize; ++i)
    EXPECT_NEAR(results.weightGradient.get(i), ofWeight[i], 4e-6) << "entry " << i;
}

TEST(Interpreter, AgreesWithTheCpu) {
  registerOnce();
  const Results own(kTarget), cpu("cpu:portable");
  auto expectNear = [](const TestArray &one, const TestArray &other) {
    for (int64_t i = 0; i < one.elements(); ++i)
      EXPECT_NEAR(one.get(i), other.get(i), 4e-6) << one.name << " " << i;
  };
  expectNear(own.loss, cpu.loss);
  expectNear(own.hiddenGradient, cpu.hiddenGradient);
  expectNear(own.weightGradient, cpu.weightGradient);
}

TEST(Interpreter, RefusesWhatItDoesNotKnow) {
  registerOnce();
  Request request = requestFor(kTarget);
  request.spec.replace(request.spec.find("%loss = arith.subf"), 18, "%tanh = math.tanh %lse : f32\n    %loss = arith.subf");
  request.spec.replace(request.spec.find("yield %loss"), 11, "yield %tanh");
  const std::shared_ptr<Engine> engine = makeEngine({});
  Result<Program> program = engine->makeProgram(request);
  ASSERT_TRUE(program.isOk());
  const Status status = engine->findPlan(*program, kRows).status();
  ASSERT_FALSE(status.isOk());
  EXPECT_NE(status.error().text.find("'math.tanh' op is not known to the interpreter"), std::string::npos) << status.error().text;
}

TEST(Interpreter, HasPartsOfFewGradientsWhereTilesAreFixed) {
  registerOnce();
  Request request = requestFor("interpreter:fixed");
  request.spec.replace(request.spec.find("vocab 45"), 8, "vocab 8192");
  request.chunks = 1;
  const std::shared_ptr<Engine> engine = makeEngine({});
  Result<Program> program = engine->makeProgram(request);
  ASSERT_TRUE(program.isOk()) << program.status().error().text;
  Result<PlanUse> plan = engine->findPlan(*program, kRows);
  ASSERT_TRUE(plan.isOk()) << plan.status().error().text;
  const bool joins = std::ranges::any_of(plan->loaded->plan.kernels, [](const KernelPlan &kernel) { return kernel.name == "join_z_hidden"; });
  EXPECT_TRUE(joins);
}
