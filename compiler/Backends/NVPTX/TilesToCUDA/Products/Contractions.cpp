// Contractions.cpp - project and contract: which operands they multiply, and what their sums start
// from.
#include "compiler/Conversion/IndexFacts.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/MainLoop.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/PlaneLoop.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/Products/WarpgroupLoop.h"
using namespace mlir;

namespace logitile::cuda {
static LogicalResult checkOperand(Operation *op, StringRef name, const View &view, Type element) {
  if (view.layout() != Layout::Strided || view.isVector())
    return op->emitOpError() << "'" << name << "' is " << view.type << "; expected a strided view of 2 dimensions";
  Type own = view.type.getElement();
  if (own != element || !(own.isF32() || own.isBF16() || own.isF16()))
    return op->emitOpError() << "'" << name << "' is of " << own << " and the other operand of " << element
                             << "; both have to be f32, bf16 or f16";
  return success();
}

static LogicalResult checkAlgorithm(Operation *op) {
  Algorithm algorithm = *algorithmOf(op);
  if (algorithm == Algorithm::MmaSync || isOfWarpgroups(op))
    return success();
  return op->emitOpError() << "is 'using' " << stringifyAlgorithm(algorithm) << ", which CUDA kernels do not have; use mma_sync";
}

/// Lines of operands of warpgroups have up to 128 bytes. Threads have no registers for more than 32
/// steps of f32, which they load ahead.
static LogicalResult checkDepth(Operation *op, Type element, int64_t depth) {
  if (depth % 16 != 0)
    return op->emitOpError() << "goes 'by' " << depth << "; tensor cores take 16 steps at a time";
  if (!isOfWarpgroups(op))
    return success();
  bool isFloat = element.isF32();
  if (llvm::isPowerOf2_64(depth) && depth <= (isFloat ? 32 : 64))
    return success();
  return op->emitOpError() << "goes 'by' " << depth << " with operands of " << element << "; wgmma takes blocks of "
                           << (isFloat ? "16 or 32" : "16, 32 or 64") << " steps of them";
}

/// Tensor cores make both sides of a tile.
static LogicalResult checkTile(Operation *op, TileType type) {
  if (type.getExtent(0) > 1 && type.getExtent(1) > 1)
    return success();
  return op->emitOpError() << "makes " << type << "; products have more than one row and more than one column";
}

static void bindBoxes(KernelContext &k, Operation *op, Operand &operand, bool endsWithTokens, bool isRight) {
  KernelContext::BoundMap bound = k.mapOf(op, isRight);
  operand.boxes = bound.map;
  operand.firstColumn = bound.firstColumn;
  operand.hasBoxes = bound.isThere();
  operand.isHalved = isHalved(op, isRight);
  if (endsWithTokens && operand.mayClip)
    operand.hasBoxes = k.e.both(operand.hasBoxes, k.haveTokens(operand.first + operand.outer, operand.end));
}

/// The operand of 'view' whose outer axis is dimension 'dim'.
static FailureOr<Operand> makeOperand(KernelContext &k, Operation *op, const View &view, unsigned dim, Value first, int64_t outer,
                                      bool isRight) {
  FailureOr<Int> end = k.end(op, view, dim);
  if (failed(end))
    return failure();
  const Sharing &sharing = k.threads.sharing;
  Int warpFirst = isRight ? k.threads.warpColumn * sharing.blockColumns() : k.threads.warpRow * sharing.blockRows();
  // Gradients of logits are stored with their padding (paddedEnd in Stores.cpp).
  bool mayReadPadding = isa<ContractOp>(op) && !isRight && k.isPadded(view);
  Operand operand{&view, k.scalar(first), *end, outer, k.mayClip(view, dim, first, outer), /*isInnerShared=*/dim == 0, warpFirst,
                  isOfWarpgroups(op), {}, {}, k.e.integer(0), mayReadPadding, false};
  if (operand.isOfWarpgroups && !operand.isFloat())
    bindBoxes(k, op, operand, /*endsWithTokens=*/ShapedType::isDynamic(view.extent(dim)), isRight);
  return operand;
}

// ---- what is there already ----------------------------------------------------------------------

namespace {
/// Memory that products are added to, where 'isAdded'.
struct Plus {
  const View &view;
  Int row, column, endRow, endColumn; // where the tile starts, and where the memory ends
  bool mayClip; // past the last column
  int64_t run;  // of neighbours that one load has
  Value isAdded;
  /// Gives 'take' the elements of one row slot. Elements that do not exist read another one that
  /// does.
  void readRow(KernelContext &k, int64_t rowSlot, int64_t columnSlots, function_ref<void(Value)> take) const {
    Int atRow = smaller(row + k.threads.row(rowSlot), endRow - 1);
    if (run > 1 && !mayClip) {
      Place start = k.placeOfRun(view, atRow, column + k.threads.column(0));
      for (int64_t slot = 0; slot < columnSlots; slot += run)
        llvm::for_each(k.e.loadRun(k.e.at(start, k.e.integer(k.threads.distance(slot))), run), take);
      return;
    }
    std::optional<Int> end = mayClip ? std::optional(endColumn) : std::nullopt;
    k.walkRow(view, atRow, column, columnSlots, end, [&](int64_t, Place place) { take(k.e.load(place)); });
  }
};
} // namespace

static FailureOr<std::optional<Plus>> plusOf(KernelContext &k, ContractOp op) {
  if (!op.getPlus())
    return std::optional<Plus>();
  const View &view = k.view(op.getPlus());
  FailureOr<Int> endRow = k.end(op, view, 0), endColumn = k.end(op, view, 1);
  if (failed(endRow) || failed(endColumn))
    return failure();
  bool mayClip = k.mayClip(view, 1, op.getColumn(), cast<TileType>(op.getType()).getExtent(1));
  return std::optional(Plus{view, k.scalar(op.getRow()), k.scalar(op.getColumn()), *endRow, *endColumn, mayClip,
                            k.runOf(view, op.getColumn()), k.condition(op.getWhen())});
}

static CodeBuilder::Values zerosOf(KernelContext &k, TileType type) {
  return CodeBuilder::Values(k.rowSlots(type) * k.columnSlots(type), k.e.number(k.e.f32, 0));
}

/// Sums that start with what is there; with zeros where nothing is added.
static CodeBuilder::Values startOf(KernelContext &k, TileType type, const Plus &plus) {
  Emitter &e = k.e;
  CodeBuilder::Values zeros = zerosOf(k, type);
  auto read = [&] {
    RowLoop loop(k);
    loop.make(type);
    loop.run([&] {
      for (int64_t rowSlot = 0; rowSlot < k.rowSlots(type); ++rowSlot)
        plus.readRow(k, rowSlot, k.columnSlots(type), [&](Value value) { loop.results[0].push_back(value); });
    });
    return loop.results[0];
  };
  return e.choose(plus.isAdded, SmallVector<Type>(zeros.size(), e.f32), read, [&] { return zeros; });
}

/// The same after the products, for rows that there are. Each row slot asks for itself, else the
/// assembler loads all of them together: that takes twice as many registers as the sums.
static CodeBuilder::Values addTo(KernelContext &k, TileType type, ValueRange sums, const Plus &plus) {
  Emitter &e = k.e;
  int64_t columns = k.columnSlots(type);
  CodeBuilder::Values all;
  for (int64_t rowSlot = 0; rowSlot < k.rowSlots(type); ++rowSlot) {
    ValueRange row = sums.slice(rowSlot * columns, columns);
    auto add = [&] {
      CodeBuilder::Values added;
      plus.readRow(k, rowSlot, columns, [&](Value value) { added.push_back(arith::AddFOp::create(e, value, row[added.size()])); });
      return added;
    };
    Value isAdded = e.both(plus.isAdded, isLess(plus.row + k.threads.row(rowSlot), plus.endRow));
    llvm::append_range(all, e.choose(isAdded, row.getTypes(), add, [&] { return llvm::to_vector(row); }));
  }
  k.readPastEnds.insert(plus.view.memory);
  return all;
}

// ---- products -----------------------------------------------------------------------------------

/// What the operands have in common, which goes by in blocks of 'depth' entries.
struct SharedAxis {
  Int first, end;
  int64_t depth;
  bool mayClip;          // whether a block may reach past the end
  bool endsWithOperands; // where it has to end
};

/// Sums of warpgroups start with zeros. Where they come from memory, the assembler lets each
/// product of 16 bits wait for the one before; with planes, they would take registers beside those
/// of the loop.
static Tile multiply(KernelContext &k, Operation *op, const Operand &left, const Operand &right, const SharedAxis &axis,
                     const std::optional<Plus> &plus, const std::optional<TileLoop> &tiles = std::nullopt) {
  auto type = cast<TileType>(op->getResult(0).getType());
  auto run = [&](ValueRange start) {
    if (left.isFloat())
      return PlaneLoop(k, left, right, axis.depth, axis.end, axis.mayClip).run(start, axis.first);
    if (isOfWarpgroups(op))
      return WarpgroupLoop(k, left, right, axis.depth, axis.end, axis.mayClip, axis.endsWithOperands).run(start, axis.first, tiles);
    return MainLoop(k, left, right, axis.depth, axis.end, axis.mayClip).run(start, axis.first);
  };
  if (!plus)
    return Tile{type, run(zerosOf(k, type)), {}};
  if (isOfWarpgroups(op))
    return Tile{type, addTo(k, type, run(zerosOf(k, type)), *plus), {}};
  return Tile{type, run(startOf(k, type, *plus)), {}};
}

/// The loop around 'op', where the kernel asks for boxes of its next tile.
static std::optional<TileLoop> tileLoopOf(KernelContext &k, ProjectOp op) {
  if (op != k.prefetching)
    return std::nullopt;
  auto loop = cast<scf::ForOp>(op->getParentOp());
  Int step = k.scalar(loop.getStep());
  return TileLoop{isLess(k.scalar(op.getColumn()) + step, k.scalar(loop.getUpperBound())), step};
}

namespace {
/// Both operands of a project, and the axis that they share.
struct Projection {
  Operand left, right;
  SharedAxis axis;
  static FailureOr<Projection> of(KernelContext &k, ProjectOp op) {
    const View &hidden = k.view(op.getHidden()), &weight = k.view(op.getWeight());
    auto type = cast<TileType>(op.getType());
    int64_t size = weight.extent(1), depth = cast<IntegerAttr>(op.getDepth()).getInt();
    Type element = weight.type.getElement();
    if (failed(checkAlgorithm(op)) || failed(checkOperand(op, "hidden", hidden, element)) ||
        failed(checkOperand(op, "weight", weight, element)) || failed(checkDepth(op, element, depth)) || failed(checkTile(op, type)))
      return failure();
    FailureOr<Operand> left = makeOperand(k, op, hidden, 0, op.getRow(), type.getExtent(0), /*isRight=*/false);
    FailureOr<Operand> right = makeOperand(k, op, weight, 0, op.getColumn(), type.getExtent(1), /*isRight=*/true);
    if (failed(left) || failed(right))
      return failure();
    return Projection{*left, *right, {k.e.integer(0), k.e.integer(size), depth, size % depth != 0, hidden.extent(1) == size}};
  }
};
} // namespace

LogicalResult convertProject(KernelContext &k, ProjectOp op) {
  FailureOr<Projection> of = Projection::of(k, op);
  if (failed(of))
    return failure();
  k.setTile(op->getResult(0), multiply(k, op, of->left, of->right, of->axis, std::nullopt, tileLoopOf(k, op)));
  return success();
}

LogicalResult startTiles(KernelContext &k, ProjectOp op) {
  FailureOr<Projection> of = Projection::of(k, op);
  if (failed(of))
    return failure();
  const SharedAxis &axis = of->axis;
  WarpgroupLoop(k, of->left, of->right, axis.depth, axis.end, axis.mayClip, axis.endsWithOperands).askForFirst(axis.first);
  return success();
}

LogicalResult convertContract(KernelContext &k, ContractOp op) {
  const View &lhs = k.view(op.getLhs()), &rhs = k.view(op.getRhs());
  auto type = cast<TileType>(op.getType());
  int64_t depth = cast<IntegerAttr>(op.getDepth()).getInt();
  Type element = rhs.type.getElement();
  if (op.getMap())
    return op.emitOpError() << "goes through a map; CUDA kernels gather the rows of an operand before";
  if (failed(checkAlgorithm(op)) || failed(checkOperand(op, "lhs", lhs, element)) || failed(checkOperand(op, "rhs", rhs, element)) ||
      failed(checkDepth(op, element, depth)) || failed(checkTile(op, type)))
    return failure();
  unsigned outer = op.getTransposed() ? 1 : 0;
  FailureOr<Operand> left = makeOperand(k, op, lhs, outer, op.getRow(), type.getExtent(0), /*isRight=*/false);
  FailureOr<Operand> right = makeOperand(k, op, rhs, 1, op.getColumn(), type.getExtent(1), /*isRight=*/true);
  FailureOr<std::optional<Plus>> plus = plusOf(k, op);
  if (failed(left) || failed(right) || failed(plus))
    return failure();
  // Blocks start at multiples of their depth, so only the end of the range can cut one.
  bool mayClip = knownDivisor(op.getFirst()) % depth != 0 || knownDivisor(op.getEnd()) % depth != 0;
  std::optional<int64_t> last = getConstantIntValue(op.getEnd());
  bool endsWithOperands = last && *last == lhs.extent(1 - outer) && *last == rhs.extent(0);
  SharedAxis axis{k.scalar(op.getFirst()), k.scalar(op.getEnd()), depth, mayClip, endsWithOperands};
  k.setTile(op.getResult(), multiply(k, op, *left, *right, axis, *plus));
  return success();
}
} // namespace logitile::cuda
