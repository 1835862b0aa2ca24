// KernelWork.cpp - follows a kernel's loops and adds up the work of each op on tiles per iteration.
// Threads read a tile of memory where they use it, and read the last existing entry in place of
// entries past an end; stores, and copies for products, are clipped.
#include "compiler/Backends/NVPTX/KernelWork.h"
#include "compiler/Backends/NVPTX/HeldRows.h"
#include "compiler/Backends/NVPTX/Sharing.h"
#include "compiler/Schedule/BuildPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
using namespace mlir;
using namespace logitile;
using cuda::Sharing;

namespace {
constexpr int64_t kMmaRows = 16, kMmaColumns = 8, kMmaDepth = 16;
constexpr int64_t kProductsOfF32 = 6; // of its three planes, those that count
constexpr int64_t kNumberBytes = 4;   // of an index, a coefficient, an entry of a map

int64_t bytesOf(Type element) { return elementBytes(elementTypeOf(element)); }
int64_t bytesOf(Value view) { return bytesOf(cast<ViewType>(view.getType()).getElement()); }
int64_t constantOf(Attribute number) { return cast<IntegerAttr>(number).getInt(); }

/// One kernel while it is looked at.
class WorkModel {
public:
  WorkModel(KernelOp kernel, const Sharing &sharing) : kernel(kernel), sharing(sharing) {}

  FailureOr<KernelWork> run() {
    auto foralls = kernel.getBody().getOps<scf::ForallOp>();
    if (foralls.empty() && failed(visitTask(kernel.getBody().front()))) // of a single task, no loop is left
      return failure();
    for (scf::ForallOp forall : foralls)
      if (failed(visitForall(forall)))
        return failure();
    return std::move(work);
  }

private:
  // ---- loops ------------------------------------------------------------------------------------

  LogicalResult visitForall(scf::ForallOp forall) {
    for (auto [counter, lower, upper, step] :
         llvm::zip_equal(forall.getInductionVars(), forall.getMixedLowerBound(), forall.getMixedUpperBound(), forall.getMixedStep()))
      if (failed(addAxis(counter, lower, upper, step)))
        return failure();
    return visitTask(*forall.getBody());
  }
  LogicalResult visitTask(Block &body) {
    addBytes(sharing.threads * readTokenCount());
    return visitBlock(body);
  }
  /// The number of tokens that count, read by every thread.
  int64_t readTokenCount() {
    BlockArgument tokens = kernel.findScalar(ScalarRole::Tokens);
    return tokens && !tokens.use_empty() ? sizeof(int64_t) : 0;
  }

  LogicalResult addAxis(Value counter, OpFoldResult lower, OpFoldResult upper, OpFoldResult step) {
    std::optional<Extent> from = extentOf(lower), to = extentOf(upper), by = extentOf(step);
    if (!from || !to || !by || !by->isConstant)
      return failure();
    places[counter] = axes.size();
    axes.push_back({*from, *to, by->scale});
    return success();
  }

  /// The columns of a vocabulary split: together with the axis of vocabulary splits, those of all
  /// vocabulary splits of the launch.
  LogicalResult visitFor(scf::ForOp loop) {
    if (cuda::isForFlaggedTokens(loop))
      return success();
    for (Operation *op : cuda::findHeldRows(loop, sharing)) {
      addBytes(bytesOfTile(op->getResult(0)));
      held.push_back(op);
    }
    std::vector<GridAxis> outer = axes;
    std::optional<int64_t> step = getConstantIntValue(loop.getStep());
    if (auto first = loop.getLowerBound().getDefiningOp<arith::MulIOp>(); first && step && places.contains(first.getLhs())) {
      unsigned place = places[first.getLhs()];
      std::optional<int64_t> columns = getConstantIntValue(first.getRhs()), end = lastOf(loop.getUpperBound());
      if (!columns)
        return failure();
      for (Extent *bound : {&axes[place].lower, &axes[place].upper})
        bound->scale *= *columns;
      axes[place].upper.cap = end.value_or(INT64_MAX);
      axes[place].step = *step;
      places[loop.getInductionVar()] = place;
    } else if (failed(addAxis(loop.getInductionVar(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep()))) {
      return failure();
    }
    isMerging = sharing.parts > 1 && cuda::mergeOf(loop);
    LogicalResult visited = visitBlock(*loop.getBody());
    isMerging = false;
    held.clear();
    axes = std::move(outer);
    return visited;
  }
  /// The constant that 'end' is at most.
  static std::optional<int64_t> lastOf(Value end) {
    auto least = end.getDefiningOp<arith::MinUIOp>();
    return least ? getConstantIntValue(least.getRhs()) : std::nullopt;
  }

  LogicalResult visitBlock(Block &block) {
    for (Operation &op : block)
      if (failed(visit(op)))
        return failure();
    return success();
  }

  LogicalResult visit(Operation &op) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case<scf::ForOp>([&](auto loop) { return visitFor(loop); })
        .Case<ProjectOp>([&](auto project) { return visitProject(project); })
        .Case<ContractOp>([&](auto contract) { return visitContract(contract); })
        .Case<StoreOp, UpdateStateOp, MapOp, SparseTermsOp, ContractSparseOp>([&](auto op) {
          add(op);
          return success();
        })
        .Case<AnyTokenOp>([&](AnyTokenOp any) {
          addBytes(sharing.threads * llvm::alignTo(constantOf(any.getTokens()), cuda::kFlagsOfTurn) * kNumberBytes);
          return success();
        })
        .Case<SumRowsOp>([&](auto sum) { return visitSumRows(sum); })
        .Default([](Operation *) { return success(); });
  }

  // ---- sums -------------------------------------------------------------------------------------

  /// In each iteration of the loops around; in single steps along the axes of 'exact'.
  void addBytes(int64_t amount, ArrayRef<Value> exact = {}, ArrayRef<GridAxis> more = {}) {
    WorkTerm term{amount, axes};
    for (Value counter : exact)
      if (auto place = places.find(counter); place != places.end())
        term.axes[place->second].step = 1;
    llvm::append_range(term.axes, more);
    if (amount > 0)
      work.globalBytes.push_back(std::move(term));
  }
  /// Entries of a tile from 'at' on for each step of an exact axis: one, or all where nothing
  /// counts along it.
  int64_t entries(Value at, int64_t count) const { return places.contains(at) ? 1 : count; }

  // ---- products ---------------------------------------------------------------------------------

  LogicalResult visitProject(ProjectOp op) {
    int64_t size = constantOf(cast<ViewType>(op.getWeight().getType()).getDims()[1]);
    GridAxis shared{{true, ScalarRole::Tokens, 0, INT64_MAX}, {true, ScalarRole::Tokens, size, INT64_MAX}, constantOf(op.getDepth())};
    addProduct(op, op.getRow(), op.getColumn(), shared);
    return success();
  }
  LogicalResult visitContract(ContractOp op) {
    if (visitPart(op))
      return success();
    std::optional<Extent> first = extentOf(op.getFirst()), end = extentOf(op.getEnd());
    if (!first || !end)
      return failure();
    addProduct(op, op.getRow(), op.getColumn(), {*first, *end, constantOf(op.getDepth())});
    if (!op.getPlus())
      return success();
    int64_t row = sharing.columns * bytesOf(op.getPlus());
    if (cuda::isOfWarpgroups(op)) // which reads the rows that there are
      return addWhen(entries(op.getRow(), sharing.rows) * row, op.getWhen(), op.getRow());
    return addWhen(sharing.rows * row, op.getWhen(), {});
  }
  /// A part of the shared axis: together with the axis of parts, all of it.
  bool visitPart(ContractOp op) {
    auto first = op.getFirst().getDefiningOp<arith::MulIOp>();
    std::optional<int64_t> end = lastOf(op.getEnd());
    if (!first || !end || !places.contains(first.getLhs()))
      return false;
    Extent one{true, ScalarRole::Tokens, 1, INT64_MAX}, none = one, all = one;
    none.scale = 0;
    all.scale = *end;
    std::vector<GridAxis> outer = axes;
    axes[places[first.getLhs()]] = {none, one, 1};
    addProduct(op, op.getRow(), op.getColumn(), {none, all, constantOf(op.getDepth())});
    axes = std::move(outer);
    return true;
  }
  void addProduct(Operation *op, Value row, Value column, GridAxis shared) {
    Value left = op->getOperand(0), right = op->getOperand(1);
    int64_t products = bytesOf(left) == 4 ? kProductsOfF32 : 1;
    int64_t width = cuda::isOfWarpgroups(op) ? sharing.columns : kMmaColumns;
    WorkTerm term{sharing.rows / kMmaRows * (sharing.columns / width) * (shared.step / kMmaDepth) * products, axes};
    term.axes.push_back(shared);
    work.matrixInstructions.push_back(std::move(term));
    shared.step = 1;
    addBytes(bytesOf(left) * entries(row, sharing.rows), row, shared);
    std::vector<GridAxis> outer = axes;
    if (cuda::algorithmOf(op) == Algorithm::WgmmaPairs) // the blocks of a pair copy it once
      if (auto place = places.find(row); place != places.end())
        axes[place->second].step *= cuda::blocksTogether(kernel);
    addBytes(bytesOf(right) * entries(column, sharing.columns), column, shared);
    axes = std::move(outer);
  }
  /// What is read where a condition holds: always, or one of the launch.
  LogicalResult addWhen(int64_t amount, Value when, ArrayRef<Value> exact) {
    std::optional<Extent> condition = extentOf(when);
    APInt constant;
    if (matchPattern(when, m_ConstantInt(&constant)))
      condition = Extent{true, ScalarRole::Tokens, constant.isZero() ? 0 : 1, INT64_MAX};
    if (!condition)
      return failure();
    addBytes(amount, exact, GridAxis{{true, ScalarRole::Tokens, 0, INT64_MAX}, *condition, 1});
    return success();
  }

  // ---- tiles of memory --------------------------------------------------------------------------

  /// Rows that threads have, one thread after the other: what is the same in a row is read by each
  /// of them. Of the threads of a row that merge row states, one does so in each turn.
  int64_t rowReads() const { return sharing.threads * sharing.rowSlots() / (isMerging ? sharing.parts : 1); }
  int64_t columnReads() const { return sharing.threads * sharing.columnSlots(); }

  /// Bytes that one use of a tile reads: none where it was computed, or where its rows are held.
  int64_t readBytes(Value tile) const { return llvm::is_contained(held, tile.getDefiningOp()) ? 0 : bytesOfTile(tile); }
  /// What reading all of a tile of memory takes.
  int64_t bytesOfTile(Value tile) const {
    auto type = cast<TileType>(tile.getType());
    int64_t elements = type.getExtent(0) > 1 && type.getExtent(1) > 1 ? rowReads() * sharing.columnSlots()
                       : type.getExtent(1) > 1                        ? columnReads()
                       : type.getExtent(0) > 1                        ? rowReads()
                                                                      : sharing.threads; // a scalar is read before the rows
    if (auto load = tile.getDefiningOp<LoadOp>())
      return elements * bytesOf(load.getView()) + (load.getMap() ? rowReads() * kNumberBytes : 0);
    if (auto gather = tile.getDefiningOp<LoadGatherOp>())
      return elements * bytesOf(gather.getView()) + readBytes(gather.getIndex()) + (gather.getMap() ? rowReads() * kNumberBytes : 0);
    return 0;
  }

  void add(StoreOp op) {
    auto type = cast<TileType>(op.getValue().getType());
    int64_t size = bytesOf(op.getView());
    auto load = op.getValue().getDefiningOp<LoadOp>();
    if (load && cuda::isCopied(load)) {
      int64_t maps = (load.getMap() ? kNumberBytes : 0) + (op.getMap() ? kNumberBytes : 0);
      int64_t elements = entries(op.getAt()[0], type.getExtent(0)) * entries(op.getAt()[1], type.getExtent(1));
      return addBytes(elements * (size + bytesOf(load.getView()) + maps), SmallVector<Value>(op.getAt()));
    }
    if (type.getExtent(0) == 1 || type.getExtent(1) == 1) { // each thread an entry
      Value at = op.getAt().back();
      return addBytes(entries(at, std::max(type.getExtent(0), type.getExtent(1))) * size, at);
    }
    Value row = op.getAt()[0], column = op.getAt()[1];
    addBytes(entries(row, sharing.rows) * entries(column, sharing.columns) * size, {row, column});
    addBytes(readBytes(op.getValue()));
    if (op.getMap())
      addBytes(entries(row, sharing.rows) * rowReads() / sharing.rows * kNumberBytes, row);
  }

  void add(UpdateStateOp op) {
    size_t state = op.getState().size();
    if (state == 0)
      return;
    for (auto [i, input] : llvm::enumerate(op.getInputs())) {
      bool isMerged = !op.getMerge().getArgument(2 * state + i).use_empty();
      bool isRead = isMerged || !op.getCandidate().getArgument(i).use_empty() || !op.getUpdate().getArgument(state + i).use_empty();
      if (isRead)
        addBytes(readBytes(input));
      if (isMerged) { // by the threads that have the states of rows; in warps, by the others too
        int64_t readers = sharing.haveWarpsStates() ? sharing.threads : sharing.rows;
        addBytes(bytesOfTile(input) / sharing.rowSlots() * readers / sharing.threads);
      }
    }
  }

  void add(MapOp op) {
    for (auto [input, argument] : llvm::zip_equal(op.getInputs(), op.getBody().getArguments()))
      if (!argument.use_empty())
        addBytes(readBytes(input));
  }

  // ---- sparse terms and sums --------------------------------------------------------------------

  /// Steps along the tokens of a launch.
  GridAxis tokensOf(Value count) const {
    return {{true, ScalarRole::Tokens, 0, INT64_MAX}, extentOf(count).value_or(Extent{false, ScalarRole::Tokens, 1, INT64_MAX}), 1};
  }
  /// For the one entry on the axis of 'counter' that a token names, where the launch has it: its
  /// part of the vocabulary is how likely that is.
  void addNamed(Value counter, int64_t amount, ArrayRef<Value> exact, ArrayRef<GridAxis> more = {}) {
    auto place = places.find(counter);
    if (amount == 0 || place == places.end())
      return addBytes(amount, exact, more);
    SmallVector<Value> all(exact);
    all.push_back(counter);
    addBytes(amount, all, more);
    const Extent &upper = axes[place->second].upper;
    work.globalBytes.back().share = upper.isConstant ? std::min(upper.scale, upper.cap) : upper.cap;
  }

  void add(SparseTermsOp op) {
    int64_t terms = op.getTerms().size() / (op.getAction() == TermAction::Clear ? 1 : 2);
    switch (op.getAction()) {
    case TermAction::Sum: // every thread has a column and looks at all tokens
      return addBytes(terms * sharing.threads * 2 * kNumberBytes, {}, tokensOf(op.getCount()));
    case TermAction::Add:
      addBytes(terms * rowReads() * kNumberBytes);
      return addNamed(op.getColumn(), terms * rowReads() / sharing.rows * kNumberBytes, op.getRow()); // all threads of the token's row
    case TermAction::Clear:
      terms -= llvm::count_if(op.getTerms(), [&](Value columns) { return cuda::findHeld(held, columns, op.getRow()); });
      return addBytes(terms * rowReads() * kNumberBytes);
    case TermAction::Extract:
      addBytes(terms * rowReads() * kNumberBytes);
      return addNamed(op.getColumn(), terms * 2 * kNumberBytes, op.getRow()); // one thread has the entry
    }
  }

  void add(ContractSparseOp op) {
    int64_t terms = op.getTerms().size() / 2, row = kNumberBytes + sharing.columnSlots() * bytesOf(op.getRhs());
    if (!op.getTransposed()) {
      addBytes(readBytes(op.getTile()));
      return addBytes(terms * rowReads() * (kNumberBytes + row));
    }
    GridAxis turns = tokensOf(op.getCount()); // of the block, with kLooks tokens for each thread
    turns.step = sharing.threads * cuda::kLooks;
    addBytes(terms * turns.step * kNumberBytes, {}, turns);
    // One tile has the row that a token names. All its threads see that, and some have elements of
    // the row.
    int64_t visitors = sharing.threads / sharing.warpRows;
    addNamed(op.getRow(), terms * (sharing.threads * kNumberBytes + visitors * row), {}, tokensOf(op.getCount()));
  }

  LogicalResult visitSumRows(SumRowsOp op) {
    auto blocks = op.getCount().getDefiningOp<arith::CeilDivUIOp>();
    std::optional<int64_t> step = blocks ? getConstantIntValue(blocks.getRhs()) : std::nullopt;
    if (!step)
      return failure();
    GridAxis rows = tokensOf(blocks.getLhs());
    rows.step = *step;
    addBytes(sharing.threads * kNumberBytes, {}, rows);
    return op.getPlus() ? addWhen(entries(op.getColumn(), sharing.columns) * kNumberBytes, op.getWhen(), op.getColumn()) : success();
  }

  KernelOp kernel;
  const Sharing sharing;
  SmallVector<Operation *> held; // before the current loop
  bool isMerging = false; // in a loop whose turns are shared out among the threads of a row
  KernelWork work;
  std::vector<GridAxis> axes;       // of the loops around
  DenseMap<Value, unsigned> places; // by what counts along an axis
};
} // namespace

KernelWork logitile::predictWork(KernelOp kernel, const GpuInfo &gpu) {
  ScopedDiagnosticHandler quiet(kernel.getContext(), [](Diagnostic &) { return success(); });
  FailureOr<Sharing> sharing = Sharing::get(kernel, gpu);
  if (failed(sharing))
    return {};
  FailureOr<KernelWork> work = WorkModel(kernel, *sharing).run();
  return failed(work) ? KernelWork() : *work;
}
