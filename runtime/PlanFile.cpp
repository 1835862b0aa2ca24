// PlanFile.cpp - the format: a magic word, a version, the length and checksum of what follows, then every field in the order
// of LaunchPlan.h. Numbers are 64-bit little-endian words; texts and lists have their length before them.
#include "runtime/PlanFile.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
using namespace logitile;

namespace {
constexpr std::string_view kMagic = "logitile plan\n";
constexpr uint64_t kVersion = 3;

class Writer {
public:
  std::string bytes;

  void number(int64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes += static_cast<char>(static_cast<uint64_t>(value) >> shift);
  }
  void field(int64_t value) { number(value); }
  void field(bool value) { number(value); }
  void field(const std::string &text) {
    number(static_cast<int64_t>(text.size()));
    bytes += text;
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void field(Enum value, Enum /*last*/) {
    number(static_cast<int64_t>(value));
  }
  void field(const std::optional<int64_t> &value) {
    field(value.has_value());
    number(value.value_or(0));
  }
  template <typename T, typename One> void list(const std::vector<T> &values, One one) {
    number(static_cast<int64_t>(values.size()));
    for (const T &value : values)
      one(value);
  }
};

/// Reads what Writer wrote; after the first field that is impossible, everything is empty.
class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}
  bool isFine = true;
  bool isAtEnd() const { return rest.empty(); }

  int64_t number() {
    uint64_t value = 0;
    std::string_view word = take(8);
    for (size_t i = 0; i < word.size(); ++i)
      value |= static_cast<uint64_t>(static_cast<uint8_t>(word[i])) << 8 * i;
    return static_cast<int64_t>(value);
  }
  void field(int64_t &value) { value = number(); }
  void field(bool &value) {
    int64_t word = number();
    isFine &= word == 0 || word == 1;
    value = word == 1;
  }
  void field(std::string &text) { text = take(number()); }
  void field(std::optional<int64_t> &value) {
    bool isThere = false;
    field(isThere);
    int64_t word = number();
    value = isThere ? std::optional(word) : std::nullopt;
  }
  template <typename Enum>
    requires std::is_enum_v<Enum>
  void field(Enum &value, Enum last) {
    int64_t word = number();
    isFine &= word >= 0 && word <= static_cast<int64_t>(last);
    value = isFine ? static_cast<Enum>(word) : Enum();
  }
  template <typename T, typename One> void list(std::vector<T> &values, One one) {
    int64_t count = number();
    constexpr int64_t kSmallest = 8; // bytes of an element: no list is longer than what is left
    isFine &= count >= 0 && count <= static_cast<int64_t>(rest.size()) / kSmallest;
    for (int64_t i = 0; isFine && i < count; ++i)
      one(values.emplace_back());
  }
  std::string_view take(int64_t count) {
    isFine &= count >= 0 && count <= static_cast<int64_t>(rest.size());
    std::string_view taken = isFine ? rest.substr(0, count) : std::string_view();
    rest.remove_prefix(taken.size());
    return taken;
  }

private:
  std::string_view rest;
};

// Each function below is the layout of one struct, for both directions: F is Writer with const data, or Reader.

template <typename F, typename T> void visitExtent(F &f, T &extent) {
  f.field(extent.isConstant);
  f.field(extent.scalar, ScalarKind::AgainSlabs);
  f.field(extent.scale);
  f.field(extent.cap);
}
template <typename F, typename T> void visitBuffer(F &f, T &buffer) {
  f.field(buffer.name);
  f.field(buffer.scope, BufferScope::Chunk);
  f.field(buffer.layout, BufferLayout::ColumnPanels);
  f.field(buffer.element, ElementType::Bool);
  f.field(buffer.rows);
  f.field(buffer.columns);
  f.field(buffer.tokensPerRow);
  f.field(buffer.alias);
  f.field(buffer.window);
  f.field(buffer.inForward);
  f.field(buffer.inAdjoint);
}
template <typename F, typename T> void visitKernel(F &f, T &kernel) {
  f.field(kernel.name);
  f.list(kernel.grid, [&](auto &axis) {
    visitExtent(f, axis.lower);
    visitExtent(f, axis.upper);
    f.field(axis.step);
  });
  f.list(kernel.arguments, [&](auto &argument) {
    f.field(argument.isBuffer);
    f.field(argument.buffer);
    f.field(argument.scalar, ScalarKind::AgainSlabs);
  });
  f.field(kernel.scratchBytes);
}
template <typename F, typename T> void visitSteps(F &f, T &steps, int depth = 0) {
  constexpr int kDeepest = 8; // loops in loops; a file must not exhaust the stack
  f.list(steps, [&](auto &step) {
    f.field(step.kind, StepKind::SlabLoop);
    f.field(step.kernel);
    f.field(step.slabFirst);
    f.field(step.slabBehind);
    f.field(step.step);
    f.field(step.first);
    f.field(step.behind);
    if (depth < kDeepest)
      visitSteps(f, step.body, depth + 1);
  });
}
template <typename F, typename T> void visitInterface(F &f, T &plan) {
  f.list(plan.pairs, [&](auto &pair) {
    f.field(pair.name);
    f.field(pair.hidden);
    f.field(pair.element, ElementType::Bool);
    f.field(pair.hiddenMemory, ElementType::Bool);
    f.field(pair.weightMemory, ElementType::Bool);
  });
  f.list(plan.inputs, [&](auto &input) {
    f.field(input.kind, InputPlan::Kind::Scalar);
    f.field(input.name);
    f.field(input.entries);
    f.field(input.element, ElementType::Bool);
    f.field(input.isIndex);
  });
  f.list(plan.outputs, [&](auto &output) {
    f.field(output.name);
    f.field(output.element, ElementType::Bool);
    f.field(output.buffer);
    f.field(output.hasUpstream);
  });
  f.list(plan.gradients, [&](auto &gradient) {
    f.field(gradient.kind, GradientPlan::Kind::Zero);
    f.field(gradient.name);
    f.field(gradient.element, ElementType::Bool);
    f.list(gradient.buffers, [&](auto &buffer) { f.field(buffer); });
    f.field(gradient.accumulates);
  });
  f.list(plan.checkedIndices, [&](auto &buffer) { f.field(buffer); });
}
template <typename F, typename T> void visitPlan(F &f, T &plan) {
  f.field(plan.name);
  f.field(plan.target);
  for (auto *number : {&plan.vocab, &plan.columns, &plan.forwardSweeps, &plan.adjointSweeps, &plan.tokensFirst, &plan.tokensBehind, &plan.slab,
                       &plan.kept, &plan.tokenTile, &plan.panelWidth})
    f.field(*number);
  f.field(plan.isSplit);
  visitInterface(f, plan);
  f.list(plan.buffers, [&](auto &buffer) { visitBuffer(f, buffer); });
  f.list(plan.kernels, [&](auto &kernel) { visitKernel(f, kernel); });
  visitSteps(f, plan.prologue);
  visitSteps(f, plan.forward);
  visitSteps(f, plan.adjoint);
  f.field(plan.code);
}

template <typename F, typename T> void visitRules(F &f, T &rules) {
  f.field(rules.reduction, Reduction::Mean);
  f.field(rules.ignore);
  f.field(rules.ignoreIndex);
  f.field(rules.isZeroWhenAllIgnored);
}

uint64_t checksum(std::string_view bytes) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}
} // namespace

std::string logitile::writePlan(const LaunchPlan &plan, const std::optional<CallRules> &rules) {
  Writer body;
  visitPlan(body, plan);
  body.field(rules.has_value());
  if (rules)
    visitRules(body, *rules);
  Writer file;
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
  Reader file(bytes);
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
  Reader reader(body);
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
