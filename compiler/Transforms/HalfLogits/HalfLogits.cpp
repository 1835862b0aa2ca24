// HalfLogits.cpp - which launches may have logits in 16 bits, and the number that is stored. Which
// logits have 16 bits is decided by choose-schedule.
#include "compiler/Transforms/HalfLogits/HalfLogits.h"
#include "compiler/Transforms/HalfLogits/StoredBase.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"
using namespace mlir;
using namespace logitile;

// ---- which launches -----------------------------------------------------------------------------

static bool isLogits(Operation *op) {
  auto input = dyn_cast<InputOp>(op);
  return input && input.getKind() == InputKind::Logits;
}
static bool readsLogits(SweepOp sweep) {
  return sweep->walk([](Operation *op) { return isLogits(op) ? WalkResult::interrupt() : WalkResult::advance(); }).wasInterrupted();
}
/// Whether a gradient is made of logits other than through 'base'.
static bool readsBeside(Block &gradient, Value base) {
  llvm::SetVector<Value> needed;
  for (AdjointOp adjoint : gradient.getOps<AdjointOp>())
    needed.insert_range(adjoint->getOperands());
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *op = needed[i].getDefiningOp();
    if (!op || needed[i] == base)
      continue;
    if (isLogits(op))
      return true;
    needed.insert_range(op->getOperands());
  }
  return false;
}

/// Logits are stored relative to the only running maximum of the first sweep, or as the argument of
/// its tanh.
static LogicalResult verifyStored(const LaunchShape &shape, StringRef projection) {
  LaunchOp launch = shape.launch;
  SweepOp first = shape.firstSweep();
  bool keepsElsewhere = !shape.loads && shape.sweep != first;
  if (!first || keepsElsewhere || first.getCandidate().front().getTerminator()->getNumOperands() != 1)
    return launch.emitOpError() << "has logits '" << projection
                                << "' in 16 bits; they need one running maximum, of the first sweep, to be relative to";
  if (!StoredBase::tanhOf(first.getCandidate().front()) && !shape.find({BufferRole::Centre, projection}))
    return launch.emitOpError() << "has logits '" << projection << "' in 16 bits, but the schedule has no buffer for "
                                << describeBuffer(BufferRole::Centre, projection, std::nullopt);
  return success();
}
static LogicalResult verifyReaders(const LaunchShape &shape, StringRef projection) {
  if (shape.sweep && readsLogits(shape.sweep))
    return LaunchOp(shape.launch).emitOpError() << "reads logits '" << projection << "' of 16 bits in sweep @"
                                                << SweepOp(shape.sweep).getSymName() << "; only gradients know their base";
  GradientOp gradient = shape.gradient;
  if (!gradient)
    return success();
  Block &body = gradient.getBody().front();
  if (readsBeside(body, StoredBase(shape.firstSweep().getCandidate().front(), body).inReader()))
    return gradient.emitOpError() << "reads logits '" << projection
                                  << "', which are stored in 16 bits, but not only for the base of their exponential";
  return success();
}

LogicalResult logitile::verifyHalfLogits(const LaunchShape &shape) {
  SmallVector<StringRef> projections = shape.halfLogits();
  if (projections.empty())
    return success();
  if (projections.size() > 1)
    return LaunchOp(shape.launch).emitOpError() << "has logits '" << projections[0] << "' and '" << projections[1]
                                                << "' in 16 bits; one exponential has one base";
  if (failed(verifyStored(shape, projections.front())))
    return failure();
  return shape.loads ? verifyReaders(shape, projections.front()) : success();
}

// ---- what is stored -----------------------------------------------------------------------------

static Value atLeast(OpBuilder &b, Location loc, Value value, float limit) {
  Value least = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(limit));
  Value isLess = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, value, least); // NaN stays
  return arith::SelectOp::create(b, loc, isLess, least, value);
}
static Value clamped(OpBuilder &b, Location loc, Value base) {
  Value low = atLeast(b, loc, base, -StoredBase::kCap);
  Value high = atLeast(b, loc, arith::NegFOp::create(b, loc, low), -StoredBase::kCap);
  return arith::NegFOp::create(b, loc, high);
}
/// A finite number in f16: far below the maximum, the gradient multiplies it with 0.
static Value distance(OpBuilder &b, Location loc, Value base, Value maximum) {
  constexpr float kLargestHalf = 65504;
  return atLeast(b, loc, arith::SubFOp::create(b, loc, base, maximum), -kLargestHalf);
}

Value logitile::storedOf(OpBuilder &b, Location loc, Value base, Value maximum) {
  return maximum ? distance(b, loc, base, maximum) : clamped(b, loc, base);
}
