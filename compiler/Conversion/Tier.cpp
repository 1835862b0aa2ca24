// Tier.cpp - finds the instruction set that a module is lowered for.
#include "compiler/Conversion/Tier.h"
#include "dialect/Logitile.h"
using namespace mlir;
using namespace logitile;

FailureOr<CpuTier> logitile::chooseTier(ModuleOp module, TierOption option) {
  if (option != TierOption::Request)
    return static_cast<CpuTier>(static_cast<int>(option) - 1);
  RequestAttr request = getRequest(module);
  if (!request)
    return module.emitOpError() << "has no attribute '" << kRequestAttrName << "'; add it, or give the option 'tier'";
  StringRef name = request.getTarget();
  std::optional<Target> target = Target::parse(std::string_view(name.data(), name.size()));
  if (!target || target->kind != DeviceKind::Cpu)
    return module.emitOpError() << "is for target '" << name << "'; expected cpu:portable, cpu:avx2, cpu:avx512 or cpu:avx512_bf16";
  return target->tier;
}
