// OperationPlaces.cpp - locations of the llvm dialect as scopes of debug information. Operations on
// tiles have marked theirs (compiler/Conversion/Tiles/TileConversion.h).
#include "compiler/Backends/NVPTX/OperationPlaces.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "llvm/Support/Path.h"
using namespace mlir;
using namespace logitile;

namespace {
Location withoutName(Location loc) {
  while (auto named = dyn_cast<NameLoc>(loc))
    loc = named.getChildLoc();
  return loc;
}

/// Names of values hide calls from the pass that makes scopes.
struct DropNamesPass : PassWrapper<DropNamesPass, OperationPass<LLVM::LLVMFuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DropNamesPass)
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) { op->setLoc(withoutName(op->getLoc())); });
  }
};

struct OperationScopesPass : PassWrapper<OperationScopesPass, OperationPass<LLVM::LLVMFuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OperationScopesPass)
  void runOnOperation() override {
    LLVM::LLVMFuncOp function = getOperation();
    auto own = function.getLoc()->findInstanceOf<FusedLocWith<LLVM::DISubprogramAttr>>();
    if (!own) // a declaration
      return;
    llvm::MapVector<std::pair<StringAttr, LLVM::DIFileAttr>, LLVM::DISubprogramAttr> scopes;
    function.walk([&](Operation *op) {
      auto marked = dyn_cast<FusedLocWith<StringAttr>>(op->getLoc());
      if (!marked || marked.getLocations().size() != 1)
        return;
      Location callee = withoutName(marked.getLocations().front()), caller = own;
      if (auto call = dyn_cast<CallSiteLoc>(callee)) {
        callee = withoutName(call.getCallee());
        caller = withoutName(call.getCaller());
      }
      auto place = callee->findInstanceOf<FileLineColLoc>();
      op->setLoc(place ? CallSiteLoc::get(FusedLoc::get(op->getContext(), {place}, scopeOf(marked.getMetadata(), place, own.getMetadata(), scopes)),
                                          caller)
                       : caller);
    });
  }

private:
  template <typename Scopes>
  static LLVM::DISubprogramAttr scopeOf(StringAttr operation, FileLineColLoc place, LLVM::DISubprogramAttr kernel, Scopes &scopes) {
    MLIRContext *context = operation.getContext();
    StringRef path = place.getFilename().getValue();
    auto file = LLVM::DIFileAttr::get(context, llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
    LLVM::DISubprogramAttr &scope = scopes[{operation, file}];
    if (!scope)
      scope = LLVM::DISubprogramAttr::get(context, DistinctAttr::create(UnitAttr::get(context)), kernel.getCompileUnit(), file, operation,
                                          operation, file, /*line=*/0, /*scopeLine=*/0,
                                          LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized, kernel.getType(), {}, {});
    return scope;
  }
};
} // namespace

void cuda::addOperationPlaces(OpPassManager &passes) {
  passes.addNestedPass<LLVM::LLVMFuncOp>(std::make_unique<DropNamesPass>());
  passes.addPass(LLVM::createDIScopeForLLVMFuncOpPass());
  passes.addNestedPass<LLVM::LLVMFuncOp>(std::make_unique<OperationScopesPass>());
}
