// ModuleTarget.cpp - reads the name of a module's target, and rates of a machine.
#include "compiler/Target/ModuleTarget.h"
#include "dialect/Logitile.h"
using namespace mlir;
using namespace logitile;

FailureOr<std::shared_ptr<const Target>> logitile::chooseTarget(ModuleOp module, StringRef option) {
  RequestAttr request = option.empty() ? getRequest(module) : RequestAttr();
  if (option.empty() && !request)
    return module.emitOpError() << "has no attribute '" << kRequestAttrName << "', which names the target";
  std::string error;
  if (std::shared_ptr<const Target> target = findTarget(option.empty() ? request.getTarget() : option, error))
    return target;
  return module.emitOpError() << "cannot be lowered: " << error;
}

// A dictionary of numbers, 1e9 a second, in the order of UnitRates.
static constexpr StringLiteral kUnitRatesAttrName = "logitile.unit_rates";
static constexpr StringLiteral kRateNames[] = {"float32", "bfloat16", "memory", "pages"};

void logitile::setUnitRates(ModuleOp module, const UnitRates &rates) {
  Builder b(module.getContext());
  SmallVector<NamedAttribute> named;
  for (auto [name, rate] : llvm::zip_equal(kRateNames, std::array{rates.float32, rates.bfloat16, rates.memory, rates.pages}))
    named.push_back(b.getNamedAttr(name, b.getF64FloatAttr(rate)));
  module->setAttr(kUnitRatesAttrName, b.getDictionaryAttr(named));
}

UnitRates logitile::getUnitRates(ModuleOp module) {
  auto rates = module->getAttrOfType<DictionaryAttr>(kUnitRatesAttrName);
  auto rate = [&](StringRef name) {
    auto value = rates ? rates.getAs<FloatAttr>(name) : FloatAttr();
    return value ? value.getValueAsDouble() : 0;
  };
  return {rate(kRateNames[0]), rate(kRateNames[1]), rate(kRateNames[2]), rate(kRateNames[3])};
}
