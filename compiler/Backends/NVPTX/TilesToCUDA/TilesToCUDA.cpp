// TilesToCUDA.cpp - the pass that turns kernels on tiles into code of GPU threads. What an op
// becomes is in the file of its family.
#include "compiler/Backends/NVPTX/GPUTarget.h"
#include "compiler/Backends/NVPTX/Passes.h"
#include "compiler/Backends/NVPTX/TilesToCUDA/KernelContext.h"
#include "compiler/Conversion/Tiles/ConvertKernels.h"
#include "compiler/Schedule/BuildPlan.h"
#include "compiler/Target/ModuleTarget.h"
using namespace mlir;

namespace logitile {
#define GEN_PASS_DEF_CONVERTTILESTOCUDAPASS
#include "compiler/Backends/NVPTX/Passes.h.inc"

namespace {
using namespace cuda;

/// Of shared memory: all banks, and what repeats the exchange of chunks in operands of warpgroups.
constexpr int64_t kBankBytes = 128, kSwizzleBytes = 1024;

/// A pointer and two strides for a view; a word for a scalar, but a pointer and two words for the
/// number of tokens. Then a word and the map for each tensor map.
SmallVector<Type> argumentsOf(KernelOp kernel, ArrayRef<TensorMap> maps, Emitter &e) {
  SmallVector<Type> types;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    std::optional<ScalarRole> scalar = kernel.scalarOf(argument);
    bool isWord = scalar && *scalar != ScalarRole::Tokens;
    types.push_back(isWord ? e.i64 : e.globalPointer);
    if (!isWord)
      types.append(2, e.i64);
  }
  for (size_t map = 0; map < maps.size(); ++map)
    types.append({e.i64, LLVM::LLVMPointerType::get(e.getContext())});
  return types;
}

/// As the launch plan reads them: argument, columns and rows of each.
ArrayAttr attributeOf(ArrayRef<TensorMap> maps, Emitter &e) {
  return e.getArrayAttr(llvm::map_to_vector(
      maps, [&](const TensorMap &map) -> Attribute { return e.getDenseI64ArrayAttr({map.argument, map.columns, map.rows}); }));
}

LogicalResult convertKernel(KernelOp kernel, Emitter &e, const GpuInfo &gpu, const Buffers &workspace) {
  FailureOr<Sharing> sharing = Sharing::get(kernel, gpu);
  if (failed(sharing))
    return failure();
  FailureOr<Pipeline> pipeline = Pipeline::get(kernel, sharing->threads, gpu.sharedBytes);
  if (failed(pipeline))
    return failure();
  e.setLoc(kernel.getLoc());
  SmallVector<TensorMap> maps = tensorMapsOf(kernel);
  SmallVector<Type> arguments = argumentsOf(kernel, maps, e);
  int64_t bytes = (arguments.size() - 2 * maps.size()) * 8 + 2 * maps.size() * kTensorMapBytes; // each word before a map is as far
  if (bytes > kMostParameterBytes)
    return kernel.emitOpError() << "takes " << bytes << " bytes of arguments; a launch passes at most " << kMostParameterBytes;
  LLVM::LLVMFuncOp function = e.beginKernel(kernel.getSymName(), arguments, sharing->threads, blocksTogether(kernel));
  for (size_t map = 0; map < maps.size(); ++map)
    e.passByValue(function, arguments.size() - 1 - 2 * map, kTensorMapBytes);
  KernelContext context(kernel, e, *sharing, *pipeline, workspace);
  if (failed(context.bindArguments(function, maps)) || failed(context.convertBlock(kernel.getBody().front())))
    return failure();
  context.finishStores();
  e.endKernel();
  eraseDeadOps(function.getBody());
  if (context.sharedBytes() > gpu.sharedBytes)
    return function.emitOpError() << "needs " << context.sharedBytes() << " bytes of shared memory, more than the " << gpu.sharedBytes
                                  << " of a block";
  function->setAttr("logitile.threads", e.getI64IntegerAttr(sharing->threads));
  function->setAttr("logitile.shared_bytes", e.getI64IntegerAttr(context.sharedBytes()));
  if (!maps.empty())
    function->setAttr("logitile.tensor_maps", attributeOf(maps, e));
  return success();
}

struct ConvertTilesToCUDAPass : impl::ConvertTilesToCUDAPassBase<ConvertTilesToCUDAPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<std::shared_ptr<const logitile::Target>> chosen = chooseTarget(module);
    if (failed(chosen))
      return signalPassFailure();
    const GPUTarget *target = GPUTarget::from(**chosen);
    if (!target) {
      module.emitOpError() << "is for target '" << (*chosen)->name() << "'; expected a target such as cuda:sm_80";
      return signalPassFailure();
    }
    const GpuInfo &gpu = target->gpu.info();
    Emitter e(module, gpu.hasOwnInstructions ? kSwizzleBytes : kBankBytes);
    Buffers workspace = findWorkspace(module);
    if (failed(convertKernels(module, [&](KernelOp kernel) { return convertKernel(kernel, e, gpu, workspace); })))
      return signalPassFailure();
  }
};
} // namespace
} // namespace logitile
