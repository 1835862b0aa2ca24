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

FailureOr<MathInstructions> logitile::chooseMath(ModuleOp module, TierOption option) {
  RequestAttr request = option == TierOption::Request ? getRequest(module) : RequestAttr();
  std::optional<Target> target = request ? Target::parse(request.getTarget().str()) : std::nullopt;
  if (target && target->kind != DeviceKind::Cpu)
    return MathInstructions();
  FailureOr<CpuTier> tier = chooseTier(module, option);
  if (failed(tier))
    return failure();
  return MathInstructions{getTierInfo(*tier).hasFma, *tier != CpuTier::Portable, *tier >= CpuTier::Avx512};
}
