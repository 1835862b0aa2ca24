// DeviceToLLVM.cpp - device code becomes functions of the llvm dialect, in one conversion. Ops of a
// backend's dialects stay, such as those of nvvm: they are LLVM intrinsics.
#include "compiler/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CONVERTDEVICETOLLVMPASS
#include "compiler/Passes.h.inc"

namespace {
/// Whether ops of 'dialect' become LLVM IR as they are. The casts of the builtin dialect are left
/// over by conversions that failed.
bool hasTranslation(Dialect *dialect) {
  return dialect && !isa<BuiltinDialect>(dialect) && dialect->getRegisteredInterface<LLVMTranslationDialectInterface>();
}

struct ConvertDeviceToLLVMPass : impl::ConvertDeviceToLLVMPassBase<ConvertDeviceToLLVMPass> {
  void runOnOperation() override {
    for (ProgramOp program : llvm::to_vector(getOperation().getOps<ProgramOp>()))
      program.erase();
    LLVMTypeConverter types(&getContext());
    RewritePatternSet patterns(&getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    populateVectorToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp>();
    target.markUnknownOpDynamicallyLegal([](Operation *op) { return hasTranslation(op->getDialect()); });
    // To be able to take back what patterns do is half of the time. None of these changes anything
    // before it knows that it applies, and an op of a type that LLVM does not have is refused where
    // it stands: before those that use its results.
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
} // namespace logitile
