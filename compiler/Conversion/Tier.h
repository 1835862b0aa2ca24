// Tier.h - the instruction set that a module is lowered for: a pass option, or what the module's request says.
#pragma once
#include "compiler/Conversion/MathFunctions.h"
#include "compiler/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
/// Values of the option `tier` of passes that depend on the instruction set.
enum class TierOption { Request, Portable, Avx2, Avx512, Avx512Bf16 };

/// The option that names 'tier'.
inline TierOption tierOption(CpuTier tier) { return static_cast<TierOption>(static_cast<int>(tier) + 1); }

/// Fails with an error at 'module' where neither it nor the option names a CPU.
mlir::FailureOr<CpuTier> chooseTier(mlir::ModuleOp module, TierOption option);
/// The same for elementary functions, where the module may be for a GPU.
mlir::FailureOr<MathInstructions> chooseMath(mlir::ModuleOp module, TierOption option);
} // namespace logitile
