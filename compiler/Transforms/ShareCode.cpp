// ShareCode.cpp - the pass that lets launches which differ only in their memory run the same code.
#include "compiler/Passes.h"
#include "dialect/checks/Workspace.h"
#include "mlir/IR/OperationSupport.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_SHARECODEPASS
#include "compiler/Passes.h.inc"

namespace {
/// What code may depend on in the arguments of a kernel, beside their types. Of a scalar, that is
/// its role. Of a view, that is which argument is the first one in the same memory, because views
/// of one memory overlap. It is also whether that memory is workspace, because only there rows
/// begin at aligned addresses.
SmallVector<Attribute> shapeOf(KernelOp kernel, const Buffers &workspace) {
  Builder b(kernel.getContext());
  SmallVector<Attribute> memory, shape;
  for (auto [argument, role] : llvm::zip_equal(kernel.getBody().getArguments(), kernel.getRoles())) {
    StringAttr buffer = kernel.bufferOf(argument);
    Attribute alias = buffer && kernel.getAliases() ? kernel.getAliases()->get(buffer) : Attribute();
    memory.push_back(alias ? alias : role);
    if (!buffer) {
      shape.push_back(role);
      continue;
    }
    shape.push_back(b.getIndexAttr(llvm::find(memory, memory.back()) - memory.begin()));
    shape.push_back(b.getBoolAttr(workspace.contains(buffer)));
  }
  return shape;
}

bool doTheSame(KernelOp left, KernelOp right, const Buffers &workspace) {
  return left.getRoles().size() == right.getRoles().size() && left.getFlushesSubnormals() == right.getFlushesSubnormals() &&
         shapeOf(left, workspace) == shapeOf(right, workspace) &&
         OperationEquivalence::isRegionEquivalentTo(&left.getBody(), &right.getBody(), OperationEquivalence::IgnoreLocations);
}

struct ShareCodePass : impl::ShareCodePassBase<ShareCodePass> {
  void runOnOperation() override {
    SmallVector<KernelOp> distinct;
    Buffers workspace = findWorkspace(getOperation());
    for (KernelOp kernel : getOperation().getOps<KernelOp>()) {
      auto earlier = llvm::find_if(distinct, [&](KernelOp other) { return doTheSame(kernel, other, workspace); });
      if (earlier == distinct.end())
        distinct.push_back(kernel);
      else
        kernel.setCode(earlier->getSymName());
    }
  }
};
} // namespace
} // namespace logitile
