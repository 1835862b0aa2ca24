// DeviceToLLVM.cpp - device code becomes functions of the llvm dialect, in one conversion. Ops of nvvm stay: they are LLVM
// intrinsics.
#include "compiler/Passes.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CONVERTDEVICETOLLVMPASS
#include "compiler/Passes.h.inc"

namespace {
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
    target.addLegalDialect<NVVM::NVVMDialect>();
    // To be able to take back what patterns do is half of the time. None of these changes anything before it knows that it applies,
    // and an op of a type that LLVM does not have is refused where it stands: before those that use its results.
    ConversionConfig config;
    config.allowPatternRollback = false;
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
} // namespace logitile
