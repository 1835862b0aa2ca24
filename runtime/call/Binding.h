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
  /// The input whose leading dimensions are those of the tokens.
  struct TokenInput {
    OperandPart part;
    std::string owner;
    bool hasAxis; // behind those dimensions
  };
  TokenInput tokenInput() const;
  /// The arrays of projections and Dense inputs, whose elements kernels read where they are.
  Status bindInputs(const CallArguments &arguments, const Tokens &tokens);
  /// The arrays of gradients that kernels write; checks those that the runtime writes.
  Status bindGradients(const CallArguments &arguments, const Tokens &tokens);
  /// Everything else: in the block that outlives the forward phase, and in the one of this phase.
  void bindWorkspace(const WorkspaceLayout &layout, char *saved, char *phase);
  /// Which row of a caller's array each token is in, in a map of its own.
  struct RowMap {
    int64_t buffer;
    TokenLayout layout;
    RowUnits units;
  };
  const std::vector<RowMap> &rowMaps() const { return maps; }
  /// Tokens are in rows of their own number: the map of tokens serves.
  void useTokenMap(int64_t buffer) { states[buffer] = states[tables.map]; }
  /// Fills the maps on the host, behind bindWorkspace. Sets tokens.map.
  void fillMaps(const IgnoreRule &rule, Tokens &tokens);

  const BufferState &operator[](int64_t buffer) const { return states[buffer]; }
  /// Memory of a buffer, null where the plan or this phase has none.
  char *memory(int64_t buffer) const { return buffer < 0 ? nullptr : states[buffer].base; }

  /// Memory of each entry of an input: of its own, or a column of a list's. Null where the plan or
  /// this phase has none.
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
