// FinishExtender.cpp - appends results to a finish.
#include "compiler/Support/FinishExtender.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
using namespace mlir;

namespace logitile {
FinishExtender::FinishExtender(FinishOp finish)
    : finish(finish), b(finish.getBody().front().getTerminator()), names(finish.getResultNames().getValue()),
      types(finish.getResultTypes().getValue()), values(finish.getBody().front().getTerminator()->getOperands()) {}

ResultAttr FinishExtender::add(StringRef wanted, Value value) {
  std::string name = wanted.str();
  for (unsigned i = 1; llvm::is_contained(names, b.getStringAttr(name)); ++i)
    name = (wanted + Twine(i)).str();
  names.push_back(b.getStringAttr(name));
  types.push_back(TypeAttr::get(value.getType()));
  values.push_back(value);
  finish.setResultNamesAttr(b.getArrayAttr(names));
  finish.setResultTypesAttr(b.getArrayAttr(types));
  finish.getBody().front().getTerminator()->setOperands(values);
  return ResultAttr::get(FlatSymbolRefAttr::get(finish), values.size() - 1);
}

Value FinishExtender::known(ResultAttr result) {
  if (result.getFinish().getValue() == finish.getSymName())
    return values[result.getNumber()];
  FinishOp source = findFinish(finish->getParentOfType<ProgramOp>(), result);
  return KnownOp::create(b, finish.getLoc(), typeOf(source, result), result);
}

Value FinishExtender::number(float value) { return arith::ConstantOp::create(b, finish.getLoc(), b.getF32FloatAttr(value)); }
} // namespace logitile
