// BuildPlan.h - makes a launch plan from a schedule and its kernels.
#pragma once
#include "compiler/Plan/LaunchPlan.h"
#include "dialect/Logitile.h"
#include "mlir/IR/BuiltinOps.h"

namespace logitile {
ElementType elementTypeOf(mlir::Type type);
/// The buffer that a schedule defines; name, owner, phases and alias are left open.
BufferPlan makeBufferPlan(BufferRole role, Scope scope, ViewType type);

/// A number of a kernel: a constant, a scalar of the launch, or min(scalar * constant, constant).
/// Nothing where it is anything else.
std::optional<Extent> extentOf(mlir::OpFoldResult number);

/// Blocks of threads that make neighbouring steps of the first axis of a kernel's grid together:
/// the most that 'ofAlgorithm' says of one of its products (Target::blocksTogether).
int64_t blocksTogether(KernelOp kernel, llvm::function_ref<int64_t(Algorithm)> ofAlgorithm);

/// The plan of a module with one scheduled program and its kernels, code and scratch sizes left
/// open. Fails with a diagnostic where a grid depends on more than the scalars of a launch.
mlir::FailureOr<LaunchPlan> buildPlan(mlir::ModuleOp module);
} // namespace logitile
