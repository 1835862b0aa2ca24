// PlanFile.cpp - the format: a magic word, a version, the length and checksum of what follows, then
// every field in the order of LaunchPlan.h. Numbers are 64-bit little-endian words; texts and lists
// have their length before them.
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Bytes.h"
using namespace logitile;

namespace {
constexpr std::string_view kMagic = "logitile plan\n";
constexpr uint64_t kVersion = 14;

// Each function below is the layout of one struct, for both directions: F is ByteWriter with const
// data, or ByteReader.

template <typename F, typename T> void visitExtent(F &f, T &extent) {
  f.field(extent.isConstant);
  f.field(extent.scalar, ScalarRole::AccumulateVocabSplits);
  f.field(extent.scale);
  f.field(extent.cap);
}
template <typename F, typename T> void visitBuffer(F &f, T &buffer) {
  f.field(buffer.name);
  f.field(buffer.role);
  f.field(buffer.owner);
  f.field(buffer.entry);
  f.field(buffer.scope);
  f.field(buffer.layout);
  f.field(buffer.element);
  f.field(buffer.rows);
  f.field(buffer.columns);
  f.field(buffer.tokensPerRow);
  f.field(buffer.alias);
  f.field(buffer.window);
  f.field(buffer.inForward);
  f.field(buffer.inBackward);
}
template <typename F, typename T> void visitAxes(F &f, T &axes) {
  f.list(axes, [&](auto &axis) {
    visitExtent(f, axis.lower);
    visitExtent(f, axis.upper);
    f.field(axis.step);
  });
}
template <typename F, typename T> void visitWork(F &f, T &terms) {
  f.list(terms, [&](auto &term) {
    f.field(term.amount);
    visitAxes(f, term.axes);
    f.field(term.share);
  });
}
template <typename F, typename T> void visitKernel(F &f, T &kernel) {
  f.field(kernel.name);
  f.field(kernel.code);
  visitAxes(f, kernel.grid);
  f.list(kernel.arguments, [&](auto &argument) {
    f.field(argument.isBuffer);
    f.field(argument.buffer);
    f.field(argument.scalar, ScalarRole::AccumulateVocabSplits);
  });
  f.field(kernel.scratchBytes);
  f.field(kernel.threads);
  f.field(kernel.sharedBytes);
  f.field(kernel.isConditional);
  f.list(kernel.tensorMaps, [&](auto &map) {
    f.field(map.argument);
    f.field(map.columns);
    f.field(map.rows);
  });
  visitWork(f, kernel.work.matrixInstructions);
  visitWork(f, kernel.work.globalBytes);
}
template <typename F, typename T> void visitSteps(F &f, T &steps, int depth = 0) {
  constexpr int kDeepest = 8; // loops in loops; a file must not exhaust the stack
  f.list(steps, [&](auto &step) {
    f.field(step.kind, StepKind::VocabSplitLoop);
    f.field(step.kernel);
    f.field(step.vocabSplitFirst);
    f.field(step.vocabSplitEnd);
    f.field(step.step);
    f.field(step.first);
    f.field(step.end);
    if (depth < kDeepest)
      visitSteps(f, step.body, depth + 1);
  });
}
template <typename F, typename T> void visitInterface(F &f, T &plan) {
  f.list(plan.projections, [&](auto &projection) {
    std::apply([&](auto &...member) { (f.field(member), ...); }, ProjectionPlan::members(projection));
  });
  f.list(plan.inputs, [&](auto &input) {
    f.field(input.kind);
    f.field(input.name);
    f.field(input.entries);
    f.field(input.element);
    f.field(input.isIndex);
  });
  f.list(plan.outputs, [&](auto &output) {
    f.field(output.name);
    f.field(output.element);
    f.field(output.buffer);
    f.field(output.hasCotangent);
    f.field(output.role, OutputPlan::Role::State);
    f.field(output.places);
  });
  f.list(plan.gradients, [&](auto &gradient) {
    f.field(gradient.kind, GradientPlan::Kind::Zero);
    f.field(gradient.part);
    f.field(gradient.owner);
    f.field(gradient.number);
    f.field(gradient.element);
    f.list(gradient.buffers, [&](auto &buffer) { f.field(buffer); });
    f.field(gradient.accumulates);
  });
  f.list(plan.checkedIndices, [&](auto &buffer) { f.field(buffer); });
}
template <typename F, typename T> void visitPlan(F &f, T &plan) {
  f.field(plan.name);
  f.field(plan.target);
  for (auto *number : {&plan.vocab, &plan.columns, &plan.forwardSweeps, &plan.backwardSweeps, &plan.tokensFirst, &plan.tokensEnd,
                       &plan.vocabSplit, &plan.stored, &plan.tokenTile, &plan.memory.panelWidth, &plan.memory.rowAlignment})
    f.field(*number);
  f.field(plan.isSplit);
  visitInterface(f, plan);
  f.list(plan.buffers, [&](auto &buffer) { visitBuffer(f, buffer); });
  f.list(plan.kernels, [&](auto &kernel) { visitKernel(f, kernel); });
  visitSteps(f, plan.prologue);
  visitSteps(f, plan.forward);
  visitSteps(f, plan.backward);
  f.field(plan.code);
}

template <typename F, typename T> void visitRules(F &f, T &rules) {
  f.field(rules.reduction);
  f.field(rules.ignore);
  f.field(rules.ignoreIndex);
  f.field(rules.isZeroWhenAllIgnored);
}
} // namespace

std::string logitile::writePlan(const LaunchPlan &plan, const std::optional<CallRules> &rules) {
  ByteWriter body;
  visitPlan(body, plan);
  body.field(rules.has_value());
  if (rules)
    visitRules(body, *rules);
  ByteWriter file;
  file.bytes = kMagic;
  file.number(kVersion);
  file.number(static_cast<int64_t>(body.bytes.size()));
  file.number(static_cast<int64_t>(checksum(body.bytes)));
  file.bytes += body.bytes;
  return file.bytes;
}

Result<SavedPlan> logitile::readPlan(std::string_view bytes) {
  auto refuse = [](const std::string &why) {
    return Status(ErrorCode::Value, "these bytes are no launch plan that this build can load: " + why);
  };
  ByteReader file(bytes);
  if (file.take(kMagic.size()) != kMagic)
    return refuse("they do not start like one");
  uint64_t version = file.number();
  if (file.isFine && version != kVersion)
    return refuse("they have format " + std::to_string(version) + ", not " + std::to_string(kVersion));
  int64_t size = file.number();
  uint64_t expected = file.number();
  std::string_view body = file.take(size);
  if (!file.isFine || !file.isAtEnd())
    return refuse("their length is wrong, they may have been cut off");
  if (checksum(body) != expected)
    return refuse("their checksum is wrong, they are damaged");
  ByteReader reader(body);
  SavedPlan saved;
  visitPlan(reader, saved.plan);
  bool hasRules = false;
  reader.field(hasRules);
  if (hasRules)
    visitRules(reader, saved.rules.emplace());
  if (!reader.isFine || !reader.isAtEnd())
    return refuse("their fields do not fit together");
  return saved;
}
