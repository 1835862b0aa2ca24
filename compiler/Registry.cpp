// Registry.cpp - registers dialects and passes. Which passes make up a stage is the business of
// Pipelines.cpp.
#include "compiler/Registry.h"
#include "compiler/Passes.h"
#include "compiler/Target/Backend.h"
#include "dialect/Logitile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
using namespace mlir;

void logitile::registerTileDialects(DialectRegistry &registry) {
  registry.insert<LogitileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect, ub::UBDialect>();
}
void logitile::registerDialects(DialectRegistry &registry) {
  registerTileDialects(registry);
  registry.insert<cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, vector::VectorDialect>();
  for (const Backend *backend : listBackends())
    backend->registerDialects(registry);
}

void logitile::registerPasses() {
  registerLogitilePasses();
  for (const Backend *backend : listBackends())
    backend->registerPasses();
}
