// HalfLogits.h - what a launch stores for logits in 16 bits. Templates say where kernels store and
// read it.
#pragma once
#include "compiler/Schedule/LaunchShape.h"

namespace logitile {
/// Fails with a diagnostic where a launch has logits in 16 bits and they are not, or not only, the
/// base of one exponential.
mlir::LogicalResult verifyHalfLogits(const LaunchShape &shape);

/// What is stored of 'base': its distance from 'maximum'. Without a maximum it is the argument of
/// tanh, within the bounds beyond which tanh is 1 or -1.
mlir::Value storedOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value base, mlir::Value maximum);
} // namespace logitile
