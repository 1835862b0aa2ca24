// Passes.h - factories and registration of the passes of NVIDIA GPUs, generated from Passes.td.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace logitile {
#define GEN_PASS_DECL
#include "compiler/Backends/NVPTX/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/Backends/NVPTX/Passes.h.inc"
} // namespace logitile
