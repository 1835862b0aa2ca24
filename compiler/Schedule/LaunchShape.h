// LaunchShape.h - the values of a template's bundles in one launch of one program.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
/// Identifies a buffer of a schedule: by its role and its owner.
struct BufferKey {
  BufferRole role;
  llvm::StringRef owner = {};
  std::optional<int64_t> number = std::nullopt; // of an input's entry, a slot of row state, a list, a pick or a result
  friend bool operator==(const BufferKey &a, const BufferKey &b) {
    return std::tie(a.role, a.owner, a.number) == std::tie(b.role, b.owner, b.number);
  }
};
/// The buffer that an input, or a result of a finish, is read from.
BufferKey bufferOf(InputOp input);
BufferKey bufferOf(ResultAttr result);
BufferKey bufferOf(PickedOp picked);
/// The buffer of a value that is an InputOp or a KnownOp.
BufferKey bufferOf(mlir::Value value);

/// A value that regions read beside logits, or an entry of a Vocab or Dense input at an index per
/// token.
struct InputRef {
  BufferKey buffer;
  InputKind kind;                 // it determines the axes; a result of a finish has the axes of a token input
  mlir::Type type;                // f32, i32 or i1
  std::optional<BufferKey> index; // of a gathered input: the buffer of its index

  bool isGathered() const { return index.has_value(); }
  friend bool operator==(const InputRef &a, const InputRef &b) { return a.buffer == b.buffer && a.index == b.index; }
};

/// Determines what the bundles of a template are in one launch: its projections, inputs, row
/// states, results and sparse terms, in a fixed order.
class LaunchShape {
public:
  /// Fails with a diagnostic at the launch where it names something that the program does not have.
  static mlir::FailureOr<LaunchShape> get(ProgramOp program, LaunchOp launch, TemplateOp source);

  /// Appends the types of the values for which the bundle 'type' is a placeholder. Symbols must be
  /// bound before.
  mlir::LogicalResult expand(BundleType type, llvm::SmallVectorImpl<mlir::Type> &types) const;
  /// The buffers of a memory bundle, in the order of expand; failure with a diagnostic at the
  /// launch where one is missing.
  mlir::FailureOr<llvm::SmallVector<BufferOp>> buffersOf(BundleKind kind) const;
  /// A buffer of the schedule, or null.
  BufferOp find(BufferKey key) const { return ScheduleOp(schedule).findBuffer(key.role, key.owner, key.number); }
  /// The projections whose logits the launch stores in 32 bits, without a centre.
  llvm::SmallVector<llvm::StringRef> storedLogits() const;
  /// The projections whose logits the launch stores in 16 bits, or reads from such memory. Their
  /// base is that of the first sweep.
  llvm::SmallVector<llvm::StringRef> halfLogits() const;
  SweepOp firstSweep() const;
  /// The number of single entries of each projection's gradient, in the order of 'gradients'.
  llvm::SmallVector<unsigned> termCounts(BundleKind kind) const;
  /// The number of views that 'listInput' needs: its memory, the memory of its index, and the map
  /// of its rows.
  static int64_t viewsOf(const InputRef &listInput);

  /// What 'op', which is in a region of the launch, reads.
  InputRef refOf(mlir::Operation *op) const;

  int64_t programColumns() const { return ProgramOp(program).getWidth(); }
  /// The numbers of the lists of the launch's sweep that the launch fills or sorts.
  llvm::SmallVector<int64_t> lists() const;
  int64_t vocabSplit() const { return ScheduleOp(schedule).getVocabSplit(); }

  ProgramOp program;
  ScheduleOp schedule;
  LaunchOp launch;
  SweepOp sweep;                                  // null where the launch has none
  FinishOp finish;                                // null where the launch has none
  GradientOp gradient;                            // null where the template has no @gradient
  bool repairs = false;                           // the launch stores a gradient once more
  bool projects = false;                          // the launch computes logits
  bool loads = false;                             // the launch reads stored logits instead
  llvm::SmallVector<llvm::StringRef> projections; // whose logits the launch reads or makes
  llvm::SmallVector<InputRef> inputs, listInputs; // one value per token or for the call; one for each place of a list
  llvm::SmallVector<AdjointOp> gradients, vocabGradients, denseGradients; // per element, by kind of input

private:
  void collect(mlir::Region &region);
  mlir::LogicalResult orderProjections();
  void add(mlir::Operation *op);
  bool isRounded(llvm::StringRef projection) const;
  /// Of 'projections', those whose logits the schedule stores in f32, or in fewer bits.
  llvm::SmallVector<llvm::StringRef> storedProjections(bool inF32) const;
  using Keys = llvm::SmallVector<BufferKey>;
  Keys keysOf(BundleKind kind) const;
  Keys inputKeys() const;
  Keys listKeys() const;
  Keys pickKeys() const;
  Keys placeKeys() const;
  Keys clearedKeys() const;
  Keys factorKeys() const;
  Keys listedKeys() const;
  Keys termKeys(bool extracted) const;
  void appendTerms(AdjointOp adjoint, bool areLists, Keys &keys) const;
  AdjointOp adjointOf(llvm::StringRef input) const;
};

/// The InputRef of an InputOp, of a KnownOp, of a PickedOp, or of a pick that gathers.
InputRef getInputRef(mlir::Operation *op);
} // namespace logitile
