// ApproximateExponentials.cpp - the pass that marks exponentials for a less exact instruction.
#include "compiler/Passes.h"
#include "compiler/Target/ModuleTarget.h"
#include "compiler/Transforms/RelativeExponentials.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_APPROXIMATEEXPONENTIALSPASS
#include "compiler/Passes.h.inc"

namespace {
/// Operands and Dense inputs of 16 bits are rounded by up to 2^-11 of themselves, and so are
/// gradients of logits: an exponential that is off by 2^-20 is not seen beside that. Those of f32
/// are rounded by 2^-24: there it would be the largest of all errors, and gradients that cancel
/// would show it.
bool toleratesApproximations(RequestAttr request) {
  auto isShort = [](Type element) { return !isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 16; };
  auto isShortProjection = [&](ProjectionAttr projection) { return isShort(projection.getElement()); };
  auto isShortDense = [&](NamedAttribute dense) { return isShort(cast<TypeAttr>(dense.getValue()).getValue()); };
  ArrayRef<ProjectionAttr> projections = request.getProjections();
  return !projections.empty() && llvm::all_of(projections, isShortProjection) && llvm::all_of(request.getDense(), isShortDense);
}

/// 2^(x log2(e)), without what rounding the product loses: |x| 2^-23 of the result.
void makeByExp2(math::ExpOp exponential) {
  ImplicitLocOpBuilder b(exponential.getLoc(), exponential);
  Value log2E = arith::ConstantOp::create(b, b.getF32FloatAttr(llvm::numbers::log2ef));
  Value exponent = arith::MulFOp::create(b, exponential.getOperand(), log2E);
  exponential.replaceAllUsesWith(Value(math::Exp2Op::create(b, exponent, arith::FastMathFlags::afn)));
  exponential.erase();
}

/// Where all there is to an exponential is a sum with a term of 1, a term with a large |x| is too
/// small to be seen, or there are exp(|x|) of them: of V entries, the sum is off by log(V) 2^-23 at
/// most.
void addUpByExp2(math::ExpOp exponential) {
  auto isSum = [](Operation *user) { return isa<arith::AddFOp, arith::SubFOp>(user); };
  if (llvm::all_of(exponential->getUsers(), isSum))
    makeByExp2(exponential);
}

/// Whether the values of a tile are only stored, rounded to 16 bits.
bool isStoredShort(Value tile) {
  return llvm::all_of(tile.getUsers(), [](Operation *user) {
    if (auto terms = dyn_cast<SparseTermsOp>(user))
      return terms.getAction() == TermAction::Clear && isStoredShort(terms.getResult());
    auto store = dyn_cast<StoreOp>(user);
    return store && cast<ViewType>(store.getView().getType()).getElement().getIntOrFloatBitWidth() <= 16;
  });
}
/// Whether 'value' goes into nothing but products, which are stored so.
bool isMultipliedAndStored(MapOp map, Value value) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    if (isa<YieldOp>(use.getOwner()))
      return isStoredShort(map.getResult(use.getOperandNumber()));
    bool isProduct = isa<arith::MulFOp, MultiplyNoNanOp, arith::SelectOp, arith::NegFOp>(use.getOwner());
    return isProduct && isMultipliedAndStored(map, use.getOwner()->getResult(0));
  });
}
/// |x| is at most 89, or the exponential is 0 or infinite: what is lost is at most 2^-16 of it, and
/// rounding takes 2^-9 of what is stored.
void storeByExp2(MapOp map) {
  for (math::ExpOp exponential : llvm::make_early_inc_range(map.getBody().getOps<math::ExpOp>()))
    if (isMultipliedAndStored(map, exponential))
      makeByExp2(exponential);
}

struct ApproximateExponentialsPass : impl::ApproximateExponentialsPassBase<ApproximateExponentialsPass> {
  void runOnOperation() override {
    FailureOr<std::shared_ptr<const Target>> target = chooseTarget(getOperation(), "");
    if (failed(target))
      return signalPassFailure();
    if (!(*target)->facts().math.hasApproximateExp2 || !toleratesApproximations(getRequest(getOperation())))
      return;
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) { // all of them: equal values have equal bits
      kernel.walk([](UpdateStateOp update) { llvm::for_each(findRelativeExponentials(update), addUpByExp2); });
      kernel.walk(storeByExp2);
      kernel.walk([](math::ExpOp exponential) { exponential.setFastmath(exponential.getFastmath() | arith::FastMathFlags::afn); });
    }
  }
};
} // namespace
} // namespace logitile
