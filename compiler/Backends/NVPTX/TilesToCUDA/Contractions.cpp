// Contractions.cpp - project and contract: which operands they multiply, and what their sums start from.
#include "compiler/Conversion/IndexFacts.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/MainLoop.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/RowLoop.h"
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

static LogicalResult checkAlgorithm(Operation *op, std::optional<Algorithm> algorithm) {
  if (algorithm == Algorithm::MmaSync)
    return success();
  return op->emitOpError() << "is 'using' " << stringifyAlgorithm(*algorithm) << ", which CUDA kernels do not have; use mma_sync";
}

static LogicalResult checkDepth(Operation *op, int64_t depth) {
  if (depth % 16 == 0)
    return success();
  return op->emitOpError() << "goes 'by' " << depth << "; tensor cores take 16 steps at a time";
}

/// Tensor cores make both sides of a tile.
static LogicalResult checkTile(Operation *op, TileType type) {
  if (type.getExtent(0) > 1 && type.getExtent(1) > 1)
    return success();
  return op->emitOpError() << "makes " << type << "; products have more than one row and more than one column";
}

/// The operand of 'view' whose outer axis is dimension 'dim'.
static FailureOr<Operand> makeOperand(KernelContext &k, Operation *op, const View &view, unsigned dim, Value first, int64_t outer,
                                      bool isRight) {
  FailureOr<Int> end = k.end(op, view, dim);
  if (failed(end))
    return failure();
  const Sharing &sharing = k.threads.sharing;
  Int warpFirst = isRight ? k.threads.warpColumn * sharing.blockColumns() : k.threads.warpRow * sharing.blockRows();
  return Operand{&view, k.scalar(first), *end, outer, k.mayClip(view, dim, first, outer), /*isInnerShared=*/dim == 0, warpFirst};
}

static Tile tileOf(Value result, CodeBuilder::Values values) { return Tile{cast<TileType>(result.getType()), std::move(values), {}}; }

LogicalResult convertProject(KernelContext &k, ProjectOp op) {
  Emitter &e = k.e;
  const View &hidden = k.view(op.getHidden()), &weight = k.view(op.getWeight());
  auto type = cast<TileType>(op.getType());
  int64_t size = weight.extent(1), depth = cast<IntegerAttr>(op.getDepth()).getInt();
  Type element = weight.type.getElement();
  if (failed(checkAlgorithm(op, op.getAlgorithm())) || failed(checkOperand(op, "hidden", hidden, element)) ||
      failed(checkOperand(op, "weight", weight, element)) || failed(checkDepth(op, depth)) || failed(checkTile(op, type)))
    return failure();
  FailureOr<Operand> left = makeOperand(k, op, hidden, 0, op.getRow(), type.getExtent(0), /*isRight=*/false);
  FailureOr<Operand> right = makeOperand(k, op, weight, 0, op.getColumn(), type.getExtent(1), /*isRight=*/true);
  if (failed(left) || failed(right))
    return failure();
  CodeBuilder::Values zeros(k.rowSlots(type) * k.columnSlots(type), e.number(e.f32, 0));
  MainLoop loop(k, *left, *right, depth, e.integer(size), size % depth != 0);
  k.setTile(op->getResult(0), tileOf(op->getResult(0), loop.run(zeros, e.integer(0))));
  return success();
}

/// What is there already, where the op says so; zeros where nothing is added.
static FailureOr<CodeBuilder::Values> startOf(KernelContext &k, ContractOp op, TileType type) {
  Emitter &e = k.e;
  CodeBuilder::Values zeros(k.rowSlots(type) * k.columnSlots(type), e.number(e.f32, 0));
  if (!op.getPlus())
    return zeros;
  const View &view = k.view(op.getPlus());
  FailureOr<Int> endRow = k.end(op, view, 0), endColumn = k.end(op, view, 1);
  if (failed(endRow) || failed(endColumn))
    return failure();
  auto read = [&] {
    RowLoop loop(k);
    loop.make(type);
    loop.run([&] {
      for (int64_t rowSlot = 0; rowSlot < k.rowSlots(type); ++rowSlot)
        for (int64_t columnSlot = 0; columnSlot < k.columnSlots(type); ++columnSlot) {
          Int row = smaller(k.scalar(op.getRow()) + k.threads.row(rowSlot), *endRow - 1);
          Int column = smaller(k.scalar(op.getColumn()) + k.threads.column(columnSlot), *endColumn - 1);
          loop.results[0].push_back(e.load(k.windowOf(view, row, column)));
        }
    });
    return loop.results[0];
  };
  return e.choose(k.condition(op.getWhen()), SmallVector<Type>(zeros.size(), e.f32), read, [&] { return zeros; });
}

LogicalResult convertContract(KernelContext &k, ContractOp op) {
  const View &lhs = k.view(op.getLhs()), &rhs = k.view(op.getRhs());
  auto type = cast<TileType>(op.getType());
  int64_t depth = cast<IntegerAttr>(op.getDepth()).getInt();
  Type element = rhs.type.getElement();
  if (op.getMap())
    return op.emitOpError() << "goes through a map; CUDA kernels gather the rows of an operand before";
  if (failed(checkAlgorithm(op, op.getAlgorithm())) || failed(checkOperand(op, "lhs", lhs, element)) ||
      failed(checkOperand(op, "rhs", rhs, element)) || failed(checkDepth(op, depth)) || failed(checkTile(op, type)))
    return failure();
  unsigned outer = op.getTransposed() ? 1 : 0;
  FailureOr<Operand> left = makeOperand(k, op, lhs, outer, op.getRow(), type.getExtent(0), /*isRight=*/false);
  FailureOr<Operand> right = makeOperand(k, op, rhs, 1, op.getColumn(), type.getExtent(1), /*isRight=*/true);
  FailureOr<CodeBuilder::Values> start = startOf(k, op, type);
  if (failed(left) || failed(right) || failed(start))
    return failure();
  // Blocks start at multiples of their depth, so only the end of the range can cut one.
  bool mayClip = knownDivisor(op.getFirst()) % depth != 0 || knownDivisor(op.getEnd()) % depth != 0;
  MainLoop loop(k, *left, *right, depth, k.scalar(op.getEnd()), mayClip);
  k.setTile(op.getResult(), tileOf(op.getResult(), loop.run(*start, k.scalar(op.getFirst()))));
  return success();
}
} // namespace logitile::cuda
