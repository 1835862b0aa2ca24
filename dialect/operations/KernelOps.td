//===- KernelOps.td - templates and kernels ------------------------------------------------------------------===//
// What is here: the skeletons of kernels, the kernels made from them, and their parameters. Loops
// in them are scf, index maths is arith.
#ifndef LOGITILE_KERNEL_OPS_TD
#define LOGITILE_KERNEL_OPS_TD
include "dialect/operations/SpecOps.td"

def Logitile_TilesStage : OpDocGroup {
  let summary = "Stage 3, tiles: templates and kernels";
  let description = "A template is a skeleton over symbols and bundles; a kernel is a template with everything bound.";
}
let opDocGroup = Logitile_TilesStage in {

class Logitile_KernelLike<string mnemonic, list<Trait> traits = []>
    : Logitile_Op<mnemonic, [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator] # traits> {
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Logitile_TemplateOp : Logitile_KernelLike<"template"> {
  let summary = "a kernel skeleton over symbolic dimensions, element types and bundles";
  let description = [{
    Parameters in capitals are dimensions, in small letters element types. For each plain argument,
    `from` names its value: a scalar of the launch, the buffer of a role without an owner, or, in
    quotes, the buffer that the launch gives under this name. Bundles have no `from`. Parallel loops
    are `scf.forall` at the top.

    `for` names the purpose for which choose-schedule launches the template. `on` lists the backends
    that it serves, by the prefixes of their targets; without `on` it serves all. A template that
    names a backend is preferred to one that serves all.

    ```mlir
    logitile.template @copy<TM, D, acc> for pack on ["cpu"] (
                                        %count: index from tokens, %source: !logitile.view<? x D x acc> from "source",
                                        %out: !logitile.view<? x D x acc> from "out") {
      %tm = logitile.param TM
      %zero = arith.constant 0 : index
      scf.forall (%row) = (0) to (%count) step (%tm) {
        %tile = logitile.load %source at [%row, %zero] : !logitile.view<? x D x acc> -> !logitile.tile<TM x D x acc>
        logitile.store %tile to %out at [%row, %zero] : !logitile.tile<TM x D x acc> to !logitile.view<? x D x acc>
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$params, OptionalAttr<Logitile_PurposeAttr>:$purpose,
      OptionalAttr<StrArrayAttr>:$targets, ArrayAttr:$roles);
}

def Logitile_KernelOp : Logitile_KernelLike<"kernel", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one launch: a template with everything bound";
  let description = [{
    A kernel has no symbolic dimension, element type or bundle. For each argument, `from` names the
    buffer of a view, which the schedule defines, or a scalar of the launch. `aliases` names pairs
    of buffers that share memory; all other buffers are disjoint. `code` names another kernel that
    does the same: a launch of this kernel runs that code, with its own arguments. With
    `flushes_subnormals`, subnormal operands count as zero and subnormal results become zero in all
    arithmetic of the kernel.

    ```mlir
    logitile.kernel @add_one(%count: index from tokens, %x: !logitile.view<?xf32> from @lse) {
      scf.forall (%row) = (0) to (%count) step (64) {
        %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
        %next = logitile.map(%tile) : (!logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
        ^bb0(%value: f32):
          %one = arith.constant 1.0 : f32
          %sum = arith.addf %value, %one : f32
          logitile.yield %sum : f32
        }
        logitile.store %next to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$roles, OptionalAttr<DictionaryAttr>:$aliases,
                       OptionalAttr<FlatSymbolRefAttr>:$code, UnitAttr:$flushes_subnormals);
  let extraClassDeclaration = [{
    /// The scalar that 'argument' is; nothing where it is a view.
    std::optional<ScalarRole> scalarOf(mlir::BlockArgument argument);
    /// The buffer that 'argument' is from; null where it is a scalar.
    mlir::StringAttr bufferOf(mlir::BlockArgument argument);
    /// The argument that is this scalar, or null.
    mlir::BlockArgument findScalar(ScalarRole role);
  }];
}

def Logitile_ParamOp : Logitile_Op<"param", [Pure]> {
  let summary = "the value of a dimension of the template";
  let description = [{
    An index, for loops and bounds; specialise makes it a constant.

    ```mlir
    %tm = logitile.param TM
    ```
  }];
  let arguments = (ins Logitile_DimAttr:$dim);
  let results = (outs Index:$result);
  let assemblyFormat = "custom<Dim>($dim) attr-dict";
}
} // opDocGroup
#endif
