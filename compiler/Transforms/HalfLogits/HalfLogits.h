// HalfLogits.h - what a launch stores for logits in 16 bits. Templates say where kernels store and
// read it.
#pragma once
#include "compiler/Schedule/LaunchShape.h"

namespace logitile {
/// Fails with a diagnostic if a launch stores or reads logits in 16 bits and uses them other than
/// as the base of one exponential.
mlir::LogicalResult verifyHalfLogits(const LaunchShape &shape);

/// The value to store for 'base': its distance from 'maximum'. Without a maximum, 'base' is the
/// argument of a tanh, and is limited to the range outside of which tanh is 1 or -1.
mlir::Value storedOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value base, mlir::Value maximum);
} // namespace logitile
