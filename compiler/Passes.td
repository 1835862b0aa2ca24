//===- Passes.td - the passes, each with its contract -----------------------------------------------------------===//
// What is here: the input, the output and the refusals of every pass. A file of the same name in
// Transforms/ or Conversion/ implements it.
#ifndef LOGITILE_PASSES_TD
#define LOGITILE_PASSES_TD
include "mlir/Pass/PassBase.td"

def PrintVaryingPass : Pass<"logitile-print-varying", "logitile::LossOp"> {
  let summary = "marks every value of a loss as varying or uniform";
  let description = [{
    Before: a loss. After: the same, with `logitile.varying` on every op whose results differ along
    the vocabulary.
    Refuses: nothing. It serves people who read a text, and tests of the analysis.
  }];
}

def CanonicaliseLossPass : Pass<"logitile-canonicalise-loss", "logitile::LossOp"> {
  let summary = "applies the rules that are part of the meaning of a loss";
  let description = [{
    Before: a loss as its author wrote it, in plain arithmetic. After: the same loss, in which
    products with a weight of 0 are 0 (`logitile.multiply_no_nan`), known exponents replace
    logarithms of rounded exponentials, and integers saturate at 32 bits. docs/design/spec.md has
    the rules. They are part of the meaning of a text, so this pass comes first. A loss that already
    has a gradient is not changed.
    Refuses: nothing.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def UnrollListsPass : Pass<"logitile-unroll-lists", "mlir::ModuleOp"> {
  let summary = "repeats the operations of a loss on its lists for each place";
  let description = [{
    Before: a loss of a slice of the vocabulary that reads lists, or a loss that picks entries of a
    Dense input at a list and wants the gradient of that input. After: the same loss with an input
    for each entry, or with single places of a list of largest entries, and a copy of each operation
    on a list for each place. Picks of a slice are then row state, which is merged like all other
    row state. Other losses are not changed: their code does not grow with the number of places.
    Refuses: a list that is an output, a list of more than 128 places, and a loss that has a
    gradient.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def DifferentiatePass : Pass<"logitile-differentiate", "logitile::LossOp"> {
  let summary = "adds the gradient of a loss";
  let description = [{
    Before: a loss that names outputs and inputs in `gradient of [..] wrt [..]` (without that,
    nothing happens). After: the same with a `logitile.gradient` before its yield, with one
    `adjoint` for each wanted input. It reuses values of the forward computation. In reverse mode,
    the adjoint of a uniform value inside a varying expression is a new reduction over the
    vocabulary. Picks are moved to inputs, so their gradients are sparse terms of these inputs.
    Refuses: an input that the loss does not read or that is not a float, and a loss with a
    gradient.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def FormSweepsPass : Pass<"logitile-form-sweeps", "mlir::ModuleOp"> {
  let summary = "turns a loss into the fewest passes over the vocabulary";
  let description = [{
    Before: losses, differentiated if they want gradients. After: a `logitile.program` replaces each
    loss. It has no schedule yet, but sweeps with their row state, finishes with the per-token
    values, and the gradient.

    Uniform factors and addends that are not known yet are moved out of reductions if that saves a
    sweep. Every exponent gets a running maximum, moments are centred on it, and every sum also
    keeps its rounding error. Reductions of the same level share a sweep, and equal accumulators are
    merged. Backward reductions join forward sweeps, get separate sweeps, or are summed in the pass
    that computes the gradient.
    Refuses: a loss that wants gradients but is not differentiated.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def SliceProgramPass : Pass<"logitile-slice-program", "mlir::ModuleOp"> {
  let summary = "extracts the part that a slice of the vocabulary runs";
  let description = [{
    Before: programs with `columns`, without a schedule, in a module whose `logitile.request` has a
    slice. After: the part of each program that the slice asks for. Modules without a slice are not
    changed. The input `slice_offset` is the first column of the slice; it is added to the columns
    of vocabulary code, and subtracted from those of sparse terms.

    The state of sweeps that slices have already merged is read as token inputs, so values that
    depend only on it are computed once for all tokens, in the prologue. The state of the sweep that
    runs, or of two slices that are merged, is an output.
    Refuses: a sweep that the program does not have, fused sums.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def GiveColumnsPass : Pass<"logitile-give-columns", "mlir::ModuleOp"> {
  let summary = "lets sweeps that read nothing along the vocabulary go along a projection";
  let description = [{
    Before: simplified programs without a schedule: the inputs of a sweep do not change any more.
    After: the same; a sweep whose regions read no input along the vocabulary goes `along` the
    logits of a projection, so that it has columns. The projection is the first one that the program
    reads, or else the first one of the request.
    Refuses: a sweep without columns if neither the program nor a `logitile.request` has a
    projection.
  }];
}

def ClassifyGradientPass : Pass<"logitile-classify-gradient", "logitile::ProgramOp"> {
  let summary = "recognises gradients that read logits through one exponential";
  let description = [{
    Before: a program. After: the same; a gradient is `exponential` if it reads the logits of its
    one projection only through the base of one exponential. That is the exponential whose running
    maximum the first sweep keeps, if no other sweep reads logits. The gradient may be the
    exponential times a polynomial of the base, with the same coefficients for all entries, or times
    factors without logits. If the exponent is a softcap, the base is the argument of tanh, and the
    gradient may also be the derivative of tanh. Values that are the same for all entries may be
    added. A small error of the base then causes a small relative error of an entry, so
    choose-schedule may store the base in 16 bits relative to its maximum.
    Refuses: nothing.
  }];
}

def FactorGradientPass : Pass<"logitile-factor-gradient", "logitile::ProgramOp"> {
  let summary = "splits a gradient into a part for the sweep to store and a factor for each token";
  let description = [{
    Before: a program. After: the same, or a program with the gradient
    `early * factor`: the early part is known while the first sweep computes the logits, the factor
    is the same for all entries of a token and known later. An exponential relative to the running
    maximum of that sweep becomes, in the early part, an exponential relative to a reference: the
    maximum over the first columns, which a separate sweep computes before. A finish raises the
    reference of tokens for which that overflows. Entries at the columns of sparse terms are
    cleared, and the coefficients of these terms are computed with them.

    The program is not changed if another sweep or another gradient reads the logits, or if the
    gradient is no such product. choose-schedule runs this pass on a copy of each program, and takes
    the copy if its schedules are faster.
    Refuses: nothing.
  }];
}

def JoinFinishesPass : Pass<"logitile-join-finishes", "logitile::ProgramOp"> {
  let summary = "joins two consecutive finishes";
  let description = [{
    Before: a program that computes gradients together with its outputs, so cotangents are known
    from the start. After: a backward finish without a sweep is part of the forward finish directly
    before it. The joined finish is backward, and results that nothing reads are removed. So one
    kernel computes what two kernels computed, and values pass between the two without memory.

    A finish is not joined if it gathers entries at an index that the previous finish computes,
    because indices are read from memory. choose-schedule runs this pass on programs of mode
    `early`.
    Refuses: nothing.
  }];
}

def ChooseSchedulePass : Pass<"logitile-choose-schedule", "mlir::ModuleOp"> {
  let summary = "decides what is stored and what is recomputed, within the byte budget";
  let description = [{
    Before: programs without a schedule, in a module with a `logitile.request`. After: the same,
    each with a `logitile.schedule`: buffers, launches with their tile sizes, loops over chunks of
    tokens and vocabulary splits, and the interval of token counts that it serves within the budget.
    The module gets the predicted time as `logitile.predicted_seconds`.

    The kinds of schedules are: nothing stored; logits stored for all tokens or for one chunk at a
    time; logits recomputed; a part of the vocabulary stored. The pass takes the one that fits and
    has the shortest predicted time.
    Refuses: a budget below the smallest schedule (the error names the minimum), a target that does
    not exist.
  }];
}

def SpecialisePass : Pass<"logitile-specialise", "mlir::ModuleOp"> {
  let summary = "instantiates the template of every launch";
  let description = [{
    Before: programs with a schedule. After: one `logitile.kernel` per launch beside the program,
    with every symbol and bundle of its template replaced and the program's regions in its holes.

    A launch that stores logits in 16 bits stores the base of its sweep's exponential minus the
    current running maximum, clamped to finite numbers. It also stores that maximum, once for each
    tile and token. If the exponent is a softcap, it stores the argument of tanh, without a maximum.
    Gradients that computed the base from the logits read the stored base instead.
    Refuses: a launch that names a template, part or buffer that does not exist, leaves a parameter
    unbound, or binds one that the template does not have (a note shows the template). Also refuses
    16-bit logits of a sweep with no running maximum or several; 16-bit logits that anything but a
    gradient reads, or from which a gradient needs anything but the base; and a schedule without
    memory for the maxima.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::math::MathDialect"];
}

def FlushSubnormalsPass : Pass<"logitile-flush-subnormals", "mlir::ModuleOp"> {
  let summary = "subnormal numbers count as zero in kernels of gradients";
  let description = [{
    Before: kernels together with their schedule. After: on a target that is slow with subnormal
    numbers, kernels that write or read gradients of logits have `flushes_subnormals`. In the
    updates of row states of all other kernels, an exponential relative to a running maximum is 0 if
    it would be subnormal, because it is added to a sum whose largest term is 1. Other numbers of
    these kernels are not changed. On other targets nothing changes.
    Refuses: a target that does not exist.
  }];
  let options = [Option<"target", "target", "std::string", "", "such as cpu:avx2; the default is that of the module's request">];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def ApproximateExponentialsPass : Pass<"logitile-approximate-exponentials", "mlir::ModuleOp"> {
  let summary = "exponentials become approximate if operands have 16 bits";
  let description = [{
    Before: kernels of a module with a request. After: on a target with an instruction for 2^x,
    exponentials of kernels have the flag `afn` (approximate function) if all operands of
    projections and all Dense inputs have 16 bits. `logitile-expand-math` then uses that
    instruction, with a relative error of at most 7e-7. In the updates of row states, an exponential
    relative to a running maximum that is only summed becomes `math.exp2` of a product, which is the
    instruction itself: the relative error of a sum of V entries is log(V) 2^-23 + 2^-22. With
    float32 inputs, and for other targets, nothing changes.
    Refuses: a module without a request, and a target that does not exist.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def FuseEarlyGradientPass : Pass<"logitile-fuse-early-gradient", "mlir::ModuleOp"> {
  let summary = "makes the early part of a gradient where the row state is updated";
  let description = [{
    Before: kernels, after `logitile-approximate-exponentials`. After: where an `early` map takes an
    approximate exponential relative to a value of the row, and the `update_state` before it takes
    the same exponential relative to a running maximum, the map is part of the update, which gives
    its results as `entries`. The map's exponential is that of the update times an exponential of
    the row: one exponential for each element instead of two. If that factor is above 2^31, a later
    kernel computes the row again. If an exponential is too small for a float32, so is the gradient:
    it is at most the softmax of the element.
    Refuses: nothing.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def ShareCodePass : Pass<"logitile-share-code", "mlir::ModuleOp"> {
  let summary = "finds kernels that do the same on different memory";
  let description = [{
    Before: kernels. After: the same; a kernel that differs from an earlier one only in the buffers
    of its arguments names that one as its `code`. Buffers that share memory must do so in both. The
    gradients of two projections of one size are such kernels: their code is generated and loaded
    once.
    Refuses: nothing.
  }];
}

def PrintSparseSlotsPass : Pass<"logitile-print-sparse-slots", "mlir::ModuleOp"> {
  let summary = "marks the row state that depends on a single vocabulary entry per token";
  let description = [{
    Before: kernels. After: the same, with the numbers of such slots as `logitile.sparse` on every
    `update_state`.
    Refuses: nothing. It serves people who read a text, and tests of the analysis.
  }];
}

def ExpandMathPass : Pass<"logitile-expand-math", "mlir::ModuleOp"> {
  let summary = "elementary functions become arithmetic";
  let description = [{
    Before: functions with math ops on f32 scalars or vectors. After: the same in arith and vector
    ops, and in math ops for which the target has an instruction. MathFunctions.cpp states the error
    bound of each function. NaN, infinities and subnormal results are as in the C library; there is
    no fast-math. If calls are cheap on the target, a module with more than `inlined` elementary
    functions calls private functions, one for each kind and type, instead of inlining the
    arithmetic.
    Refuses: functions that the language does not have.
  }];
  let options = [Option<"target", "target", "std::string", "", "such as cpu:avx2; the default is that of the module's request">,
                 Option<"inlined", "inlined", "int64_t", "500", "most elementary functions that are inlined">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect",
                           "mlir::math::MathDialect", "mlir::vector::VectorDialect"];
}

def CutBlocksPass : Pass<"logitile-cut-blocks", "mlir::ModuleOp"> {
  let summary = "long blocks become calls of functions";
  let description = [{
    Before: functions of device code. After: no block has more than `longest` ops, including those
    of nested regions. The ops of a longer block are moved to private functions, with about `part`
    ops each. A part stores the values that later parts read in memory of the calling function. This
    is needed because code generation takes more than linear time for a block; the blocks of the
    library's losses have at most half as many ops.
    Refuses: nothing. A block with a value that cannot be stored in memory is not cut.
  }];
  let options = [Option<"longest", "longest", "int64_t", "2500", "most ops of a block that stays whole">,
                 Option<"part", "part", "int64_t", "800", "ops of a part">];
  let dependentDialects = ["mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect"];
}

def ConvertDeviceToLLVMPass : Pass<"convert-device-to-llvm", "mlir::ModuleOp"> {
  let summary = "device code becomes functions of the llvm dialect";
  let description = [{
    Before: the output of `convert-tiles-to-cpu` or `convert-tiles-to-cuda`, and
    `logitile-expand-math`. After: the llvm dialect, and the nvvm ops of GPU code; programs are
    removed.
    Refuses: ops of other dialects.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::cf::ControlFlowDialect"];
}
#endif
