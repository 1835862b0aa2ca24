// Picks.cpp - finds such slots by their structure, and adds them to all regions of a sweep.
#include "compiler/Transforms/FactorGradient/Picks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
using namespace mlir;
using namespace logitile;

/// Whether both read the same memory.
static bool isSameRead(Value a, Value b) {
  Operation *one = a.getDefiningOp(), *other = b.getDefiningOp();
  return one && other && isa<InputOp, KnownOp>(one) && one->getName() == other->getName() &&
         one->getPropertiesAsAttribute() == other->getPropertiesAsAttribute();
}

std::optional<unsigned> logitile::findPickSlot(SweepOp sweep, Value column, StringRef logits) {
  Block &update = sweep.getUpdate().front();
  for (auto [slot, next] : llvm::enumerate(update.getTerminator()->getOperands())) {
    auto select = next.getDefiningOp<arith::SelectOp>();
    auto isHere = select ? select.getCondition().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
    if (!isHere || isHere.getPredicate() != arith::CmpIPredicate::eq || select.getFalseValue() != update.getArgument(slot))
      continue;
    auto input = select.getTrueValue().getDefiningOp<InputOp>();
    bool comparesColumn = isHere.getLhs().getDefiningOp<ColumnOp>() && isSameRead(isHere.getRhs(), column);
    bool isOfLogits = input && input.getKind() == InputKind::Logits && input.getName() == logits;
    if (isOfLogits && comparesColumn)
      return slot;
  }
  return std::nullopt;
}

/// Appends 'value' to what a region yields.
static void yieldToo(Block &block, Value value) {
  SmallVector<Value> values(block.getTerminator()->getOperands());
  values.push_back(value);
  block.getTerminator()->setOperands(values);
}

unsigned logitile::addPickSlot(ProgramOp program, SweepOp sweep, Value column, StringRef logits) {
  Location loc = sweep.getLoc();
  unsigned slot = sweep.getStateNames().size();
  Block &init = sweep.getInit().front(), &update = sweep.getUpdate().front(), &merge = sweep.getMerge().front();
  OpBuilder b(init.getTerminator());
  Type f32 = b.getF32Type();
  yieldToo(init, arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)));

  Value before = update.addArgument(f32, loc);
  b.setInsertionPoint(update.getTerminator());
  Value wanted = b.clone(*column.getDefiningOp())->getResult(0), here = ColumnOp::create(b, loc, b.getI32Type());
  Value isHere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, here, wanted);
  Value logit = InputOp::create(b, loc, f32, InputKind::Logits, logits, IntegerAttr(), IntegerAttr());
  yieldToo(update, arith::SelectOp::create(b, loc, isHere, logit, before));

  Value left = merge.insertArgument(slot, f32, loc), right = merge.addArgument(f32, loc);
  b.setInsertionPoint(merge.getTerminator());
  yieldToo(merge, arith::AddFOp::create(b, loc, left, right));

  SmallVector<Attribute> names(sweep.getStateNames().getValue()), types(sweep.getStateTypes().getValue());
  names.push_back(b.getStringAttr("pick" + std::to_string(slot)));
  types.push_back(TypeAttr::get(f32));
  sweep.setStateNamesAttr(b.getArrayAttr(names));
  sweep.setStateTypesAttr(b.getArrayAttr(types));
  for (FinishOp finish : program.getBody().getOps<FinishOp>())
    if (finish.getSweep() == sweep.getSymName() && !finish.isOfList())
      finish.getBody().addArgument(f32, loc);
  return slot;
}
