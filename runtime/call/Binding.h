// Binding.h - the addresses of a plan's buffers in one call: the caller's arrays, and everything
// else in workspace. Inputs.h fills small inputs.
#pragma once
#include "runtime/call/Call.h"
#include "runtime/arrays/Tokens.h"

namespace logitile {
/// Memory and strides of one buffer. Strides are in elements.
struct BufferState {
  char *base = nullptr;
  int64_t stride0 = 0, stride1 = 0;
};

/// The buffers of one phase of one call.
class Binding {
public:
  Binding(const LoadedPlan &loaded, bool isBackward)
      : plan(loaded.plan), tables(loaded.tables), isBackward(isBackward), states(plan.buffers.size()) {}

  /// Leading dimensions and number of tokens, from the first projection.
  Result<Tokens> findTokens(const CallArguments &arguments) const;
  /// The operand that determines the leading dimensions of the tokens.
  struct TokenInput {
    OperandPart part;
    std::string owner;
    bool hasAxis; // whether the array has one more axis after the leading dimensions
  };
  TokenInput tokenInput() const;
  /// The arrays of projections and Dense inputs, whose elements kernels read where they are.
  Status bindInputs(const CallArguments &arguments, const Tokens &tokens);
  /// The arrays of gradients that kernels write; checks those that the runtime writes.
  Status bindGradients(const CallArguments &arguments, const Tokens &tokens);
  /// Binds all other buffers to workspace: to the block that is kept after the forward phase
  /// ('saved'), and to the block of this phase ('phase').
  void bindWorkspace(const WorkspaceLayout &layout, char *saved, char *phase);
  /// A map of one caller's array: for each token, the row in which it is.
  struct RowMap {
    int64_t buffer;
    TokenLayout layout;
    RowUnits units;
  };
  const std::vector<RowMap> &rowMaps() const { return maps; }
  /// Makes the map of tokens the map 'buffer': each token is in the row with its number.
  void useTokenMap(int64_t buffer) { states[buffer] = states[tables.map]; }
  /// Fills the maps on the host, after bindWorkspace. Sets tokens.map.
  void fillMaps(const IgnoreRule &rule, Tokens &tokens);

  const BufferState &operator[](int64_t buffer) const { return states[buffer]; }
  /// The memory of a buffer; null if the plan or this phase does not have the buffer.
  char *memory(int64_t buffer) const { return buffer < 0 ? nullptr : states[buffer].base; }

  /// The memory of each entry of an input. An entry has its own buffer, or is a column of a list's
  /// buffer. Null if the plan or this phase does not have it.
  std::vector<char *> entriesOf(size_t input) const;

private:
  /// The rows of an array [leading, last axis].
  Status bindRows(const Array &array, const Tokens &tokens, int64_t buffer, int64_t map);
  Status bindProjection(size_t projection, const CallArguments &arguments, const Tokens &tokens);
  Status bindGradient(const GradientPlan &gradient, const Array &array, const Tokens &tokens);
  std::vector<int64_t> shapeOf(const GradientPlan &gradient, const Array &array, const Tokens &tokens) const;

  const LaunchPlan &plan;
  const PlanTables &tables;
  const bool isBackward;
  std::vector<BufferState> states;
  std::vector<RowMap> maps;
};
} // namespace logitile
