// LaunchShape.h - what the bundles of a template stand for in one launch of one program.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
/// A value that regions read beside logits: an input, or an entry of a Vocab or Dense input at an index per token.
struct InputRef {
  InputKind kind;
  llvm::StringRef name;
  int64_t index = -1;             // entry of a token input, -1 where it has only one
  InputKind byKind = InputKind::Token; // of a gathered input: where its index is read
  llvm::StringRef byName;         // empty: not gathered
  int64_t byIndex = -1;
  mlir::Type type;                // f32, i32 or i1

  bool isGathered() const { return !byName.empty(); }
  friend bool operator==(const InputRef &a, const InputRef &b) {
    return std::tie(a.kind, a.name, a.index, a.byKind, a.byName, a.byIndex) == std::tie(b.kind, b.name, b.index, b.byKind, b.byName, b.byIndex);
  }
};

/// Names of buffers, the same in the schedule, the kernels and the launch plan.
namespace buffers {
std::string input(InputKind kind, llvm::StringRef name, int64_t index = -1); // "target", "topk[3]", "upstream.loss", "known.lse"
std::string hidden(llvm::StringRef pair);                                    // "z.hidden"
std::string weight(llvm::StringRef pair);                                    // "z.weight"
std::string rounded(llvm::StringRef operand);                                // "rounded.z.weight": a copy, where kernels cannot round
std::string packedRows(llvm::StringRef pair);                                // "packed.z.rows": lanes along tokens
std::string packedColumns(llvm::StringRef pair);                             // "packed.z.columns": lanes along the hidden axis
std::string kept(llvm::StringRef pair);                                      // "kept.z": logits
std::string centre(llvm::StringRef pair);                                    // "centre.z": maxima that 16-bit ones are relative to
std::string grad(llvm::StringRef pair);                                      // "grad.z": gradients of logits
std::string blocks(llvm::StringRef vocab);                                   // "blocks.bias": sums over blocks of tokens
std::string gradient(llvm::StringRef input);                                 // "gradient.z.hidden", "gradient.bias": outputs
std::string rows(llvm::StringRef sweep, llvm::StringRef entry);              // "rows.statistics.max"
std::string sum(llvm::StringRef input);                                      // "sum.z.weight": a gradient summed in f32
inline constexpr llvm::StringLiteral kFacts = "call.facts";                    // GPUs: how many tokens count, what divides the loss
inline constexpr llvm::StringLiteral kTokenSlots = "tokens.slots";             // GPUs: the inverse of tokens.map
inline constexpr llvm::StringLiteral kWrongTokens = "tokens.wrong";            // GPUs: tokens with an index outside the vocabulary
bool isReadInEveryCall(llvm::StringRef name);                                  // by the runtime itself
inline constexpr llvm::StringLiteral kTokenMap = "tokens.map";                 // which tokens count; no input has such a name
std::string map(llvm::StringRef array);                                      // "map.z.hidden": rows of the caller's array that count
} // namespace buffers

/// Resolves bundles: which projections, inputs, rows, results and terms one launch has, in a fixed order.
class LaunchShape {
public:
  /// Fails with a diagnostic at the launch where it names something that the program does not have.
  static mlir::FailureOr<LaunchShape> get(ProgramOp program, LaunchOp launch, TemplateOp source);

  /// The types of the values that 'type' stands for; symbols must be bound already.
  mlir::LogicalResult expand(BundleType type, llvm::SmallVectorImpl<mlir::Type> &types) const;
  /// The buffers of a memory bundle, in the order of expand.
  llvm::SmallVector<std::string> buffersOf(BundleKind kind) const;
  /// The view type of a buffer of the schedule, or failure with a diagnostic at the launch.
  mlir::FailureOr<ViewType> viewOf(llvm::StringRef buffer, bool complain = true) const;
  /// Projections whose logits the schedule keeps.
  llvm::SmallVector<llvm::StringRef> keptProjections() const;
  /// The number of single entries of each projection's gradient, in the order of 'gradients'.
  llvm::SmallVector<unsigned> termCounts(BundleKind kind) const;

  int64_t programColumns() const { return ProgramOp(program).getWidth(); }
  int64_t slab() const { return ScheduleOp(schedule).getSlab(); }

  ProgramOp program;
  ScheduleOp schedule;
  LaunchOp launch;
  SweepOp sweep;       // null where the launch has none
  FinishOp finish;     // null where the launch has none
  GradientOp gradient; // null where the template has no @gradient
  bool projects = false; // the template makes logits, rather than reading them
  llvm::SmallVector<llvm::StringRef> projections; // whose logits the launch reads or makes
  llvm::SmallVector<InputRef> inputs;
  llvm::SmallVector<AdjointOp> gradients, vocabGradients, denseGradients; // per element, by kind of input

private:
  void collect(mlir::Region &region);
  mlir::LogicalResult orderProjections();
  void add(InputRef ref);
  bool isRounded(llvm::StringRef pair) const;
  void appendTerms(AdjointOp adjoint, llvm::SmallVectorImpl<std::string> &names) const;
  AdjointOp adjointOf(llvm::StringRef input) const;
};

/// The InputRef of 'input', or of the pick that gathers from it.
InputRef getInputRef(InputOp input);
InputRef getGatherRef(PickOp pick);
} // namespace logitile
