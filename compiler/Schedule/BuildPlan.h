// BuildPlan.h - makes a launch plan from a schedule and its kernels.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "dialect/Logitile.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
ElementType elementTypeOf(mlir::Type type);
/// The plan of a buffer. Name, owner, phases and alias are not set.
BufferPlan makeBufferPlan(BufferRole role, Scope scope, ViewType type);

/// A number in a kernel as an Extent: a constant, a scalar of the launch, or min(scalar * constant,
/// constant). None for any other number.
std::optional<Extent> extentOf(mlir::OpFoldResult number);

/// How many thread blocks run neighbouring steps of the first axis of a kernel's grid together: the
/// largest answer of 'ofAlgorithm' (Target::blocksTogether) for one of the kernel's products.
int64_t blocksTogether(KernelOp kernel, llvm::function_ref<int64_t(Algorithm)> ofAlgorithm);

/// The plan of a module with one scheduled program and its kernels. Code and scratch sizes are not
/// set. Fails with a diagnostic if a grid depends on more than the scalars of a launch.
mlir::FailureOr<LaunchPlan> buildPlan(mlir::ModuleOp module);
} // namespace logitile
