// IndexFacts.cpp - divisors and bits of integers, followed through loops and arithmetic. MLIR's
// IntegerRangeAnalysis finds the smallest and the largest value, but no divisors. Its affine
// expressions know divisors, but not those of arith and scf.
#include "compiler/Conversion/IndexFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>
using namespace mlir;
using namespace logitile;

namespace {
/// Bounds of the loop that counts 'value'; nullopt where no loop does.
struct Bounds {
  OpFoldResult lower, upper, step;
};
std::optional<Bounds> boundsOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return std::nullopt;
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  std::optional<SmallVector<Value>> counters = loop ? loop.getLoopInductionVars() : std::nullopt;
  auto *counter = counters ? llvm::find(*counters, value) : nullptr;
  if (!counters || counter == counters->end())
    return std::nullopt;
  size_t axis = counter - counters->begin();
  return Bounds{(*loop.getLoopLowerBounds())[axis], (*loop.getLoopUpperBounds())[axis], (*loop.getLoopSteps())[axis]};
}
int64_t divisorOf(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return std::abs(*constant);
  return logitile::knownDivisor(cast<Value>(value));
}
} // namespace

int64_t logitile::knownDivisor(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return std::abs(constant.getSExtValue());
  if (std::optional<Bounds> bounds = boundsOf(value))
    return std::gcd(divisorOf(bounds->lower), divisorOf(bounds->step));
  Operation *op = value.getDefiningOp();
  if (!op)
    return 1;
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<arith::MulIOp>([](auto mul) { return knownDivisor(mul.getLhs()) * knownDivisor(mul.getRhs()); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MinUIOp, arith::MaxUIOp>(
          [](auto two) { return std::gcd(knownDivisor(two.getLhs()), knownDivisor(two.getRhs())); })
      .Case<arith::ExtUIOp>([](auto same) { return knownDivisor(same.getIn()); })
      .Case<arith::TruncIOp>([](auto cut) { // which keeps powers of two
        int64_t divisor = knownDivisor(cut.getIn());
        return divisor & -divisor;
      })
      .Default([](Operation *) { return 1; });
}

llvm::KnownBits logitile::knownBits(Value value, unsigned depth) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return llvm::KnownBits::makeConstant(constant);
  Operation *op = depth > 0 ? value.getDefiningOp() : nullptr;
  auto operand = [&](unsigned number) { return knownBits(op->getOperand(number), depth - 1); };
  if (isa_and_nonnull<arith::AddIOp>(op))
    return llvm::KnownBits::add(operand(0), operand(1));
  if (isa_and_nonnull<arith::MulIOp>(op))
    return llvm::KnownBits::mul(operand(0), operand(1));
  if (isa_and_nonnull<arith::RemUIOp>(op))
    return llvm::KnownBits::urem(operand(0), operand(1));
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  if (isa_and_nonnull<arith::ExtUIOp>(op))
    return operand(0).zext(width);
  if (isa_and_nonnull<arith::TruncIOp>(op))
    return operand(0).trunc(width);
  llvm::KnownBits known(width);
  if (boundsOf(value)) {
    unsigned zeros = llvm::countr_zero(static_cast<uint64_t>(knownDivisor(value)));
    known.Zero.setLowBits(std::min(zeros, known.getBitWidth()));
  }
  return known;
}

/// Whether a loop up to 'upper' ends with a tile that does not reach past it, other than past the
/// end of the axis.
static bool endsAtTile(OpFoldResult upper, int64_t tile, int64_t extent) {
  if (std::optional<int64_t> constant = getConstantIntValue(upper))
    return *constant % tile == 0 || *constant >= extent;
  auto clipped = cast<Value>(upper).getDefiningOp<arith::MinUIOp>();
  if (!clipped)
    return logitile::knownDivisor(cast<Value>(upper)) % tile == 0;
  return endsAtTile(clipped.getLhs(), tile, extent) && endsAtTile(clipped.getRhs(), tile, extent);
}

FailureOr<SmallVector<int64_t, 2>> logitile::tileSizes(Operation *op, StringRef axis, Value start, int64_t tile, int64_t extent) {
  if (int64_t divisor = knownDivisor(start); divisor % tile != 0)
    return op->emitOpError() << "has tiles of " << tile << " along the " << axis << " axis that start at multiples of " << divisor
                             << "; make vocabulary splits a multiple of the tile";
  if (std::optional<Bounds> bounds = boundsOf(start); bounds && !endsAtTile(bounds->upper, tile, extent))
    return op->emitOpError() << "has tiles of " << tile << " along the " << axis
                             << " axis that may reach past the end of their loop; make vocabulary splits a multiple of the tile";
  SmallVector<int64_t, 2> sizes;
  if (extent >= tile)
    sizes.push_back(tile);
  if (extent % tile != 0)
    sizes.push_back(extent % tile);
  return sizes;
}
