// Passes.h - factories and registration of our passes, generated from Passes.td.
#pragma once
#include "dialect/Logitile.h"
#include "mlir/Pass/Pass.h"

namespace logitile {
#define GEN_PASS_DECL
#include "compiler/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/Passes.h.inc"
} // namespace logitile
