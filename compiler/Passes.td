//===- Passes.td - the passes, each with its contract -----------------------------------------------------------===//
// What is here: what every pass takes, gives and refuses. A file of the same name in Transforms/ or
// Conversion/ does it.
#ifndef LOGITILE_PASSES_TD
#define LOGITILE_PASSES_TD
include "mlir/Pass/PassBase.td"

def PrintVaryingPass : Pass<"logitile-print-varying", "logitile::LossOp"> {
  let summary = "marks every value of a loss as varying or uniform";
  let description = [{
    Before: a loss. After: the same, with `logitile.varying` on every op whose results differ along the vocabulary.
    Refuses: nothing. For reading and for tests of the analysis.
  }];
}

def CanonicaliseLossPass : Pass<"logitile-canonicalise-loss", "logitile::LossOp"> {
  let summary = "writes a loss by the rules that are part of the meaning of its text";
  let description = [{
    Before: a loss as its author wrote it, in plain arithmetic. After: the same where a weight of 0 wins against infinities
    (`logitile.multiply_no_nan`), exponents that are known are used instead of logarithms of rounded exponentials, and integers
    saturate at 32 bits. docs/design/spec.md has the rules. Without this pass a text means something else, so it comes
    first. A loss that has a gradient already stays as it is.
    Refuses: nothing.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def UnrollListsPass : Pass<"logitile-unroll-lists", "mlir::ModuleOp"> {
  let summary = "writes what a loss does with lists that it reads once for each place";
  let description = [{
    Before: a loss of a slice of the vocabulary that reads lists, or one that wants the gradient of a Dense input of which it picks
    entries at a list. After: the same with an input for each entry, or with the places of a list of largest entries one by one, and a copy
    of each operation on a list for each place. What a slice picks is then row state, which is merged like all other row state. Other
    losses stay as they are: their code does not grow with the number of places.
    Refuses: a list that is an output, a list of more than 128 places, and a loss that has a gradient.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def DifferentiatePass : Pass<"logitile-differentiate", "logitile::LossOp"> {
  let summary = "adds the gradient of a loss";
  let description = [{
    Before: a loss that names outputs and inputs in `gradient of [..] wrt [..]` (without that, nothing happens). After:
    the same with a `logitile.gradient` before its yield, one `adjoint` for each wanted input; values of the forward
    computation are used again. Reverse mode: the adjoint of a uniform value inside a varying expression is a new
    reduction over the vocabulary; picks are pushed to inputs, so the sparse terms that they reach become rows.
    Refuses: an input that the loss does not read or that is no float, and a loss with a gradient.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def FormSweepsPass : Pass<"logitile-form-sweeps", "mlir::ModuleOp"> {
  let summary = "turns a loss into the fewest passes over the vocabulary";
  let description = [{
    Before: losses, differentiated where they want gradients. After: a `logitile.program` in the place of each, without
    a schedule: sweeps with their row state, finishes with the per-token values, the gradient.

    Unfinished uniform factors and addends are pulled out of reductions where that saves a sweep, every exponent gets a
    running maximum, moments are centred on it, every sum keeps its rounding errors beside it, reductions of one depth
    share a sweep, equal accumulators are one. Backward reductions join forward sweeps, get sweeps of their own, or are summed
    while the gradient is made.
    Refuses: a loss that wants gradients and has none.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def SliceProgramPass : Pass<"logitile-slice-program", "mlir::ModuleOp"> {
  let summary = "takes out what a slice of the vocabulary runs";
  let description = [{
    Before: programs with `columns`, without a schedule, in a module whose `logitile.request` has a slice. After: of
    each, the part that the slice asks for; modules without a slice stay as they are. Where the slice begins is the
    input `slice_offset`; columns of vocabulary code and of sparse terms are moved by it.

    State of sweeps that slices have merged already is read as token inputs, so that what follows from it is made once
    for all tokens, in the prologue. The state of the sweep that runs, or of two slices that are merged, is an output.
    Refuses: a sweep that the program does not have, fused sums.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def GiveColumnsPass : Pass<"logitile-give-columns", "mlir::ModuleOp"> {
  let summary = "lets sweeps that read nothing along the vocabulary go along a projection";
  let description = [{
    Before: programs without a schedule, simplified: what a sweep reads does not change any more. After: the same; a sweep whose
    regions read no input along the vocabulary goes `along` the logits of a projection, to have columns. The projection is the
    first one that the program reads, or else the first one of the request.
    Refuses: a sweep without columns where neither the program nor a `logitile.request` has a projection.
  }];
}

def ClassifyGradientPass : Pass<"logitile-classify-gradient", "logitile::ProgramOp"> {
  let summary = "recognises gradients that read logits through one exponential";
  let description = [{
    Before: a program. After: the same; a gradient is `exponential` if it reads the logits of its one projection only through the
    base of one exponential. That is the exponential whose running maximum the first sweep keeps, if no other sweep reads logits.
    The gradient may be the exponential times a polynomial of the base that is the same for all entries, or times factors without
    logits. If the exponent is a softcap, the base is the argument of tanh, and the gradient may also be the derivative of
    tanh. Values that are the same for all entries may be added. A small relative error of the base then changes an entry
    by a small part of itself, so choose-schedule may store the base in 16 bits relative to its maximum.
    Refuses: nothing.
  }];
}

def FactorGradientPass : Pass<"logitile-factor-gradient", "logitile::ProgramOp"> {
  let summary = "splits a gradient into a part for the sweep to store and a factor for each token";
  let description = [{
    Before: a program. After: the same, or one with the gradient `early * factor`: the early part is known while the first sweep
    makes the logits, the factor is the same for all entries of a token and known later. Of one exponential, relative to the
    running maximum of that sweep, the early part has the exponential relative to a reference: the maximum over the first
    columns, which a sweep of its own makes before. A finish raises the reference of tokens for which that overflows. Entries at
    the columns of sparse terms are `taken`, and the coefficients of these terms are computed with them.

    The program stays as it is where logits are read again, by another sweep or another gradient, and where the gradient is no such
    product. choose-schedule runs this pass on a copy of each program, and takes the copy where its schedules are faster.
    Refuses: nothing.
  }];
}

def JoinFinishesPass : Pass<"logitile-join-finishes", "logitile::ProgramOp"> {
  let summary = "makes one finish of two that follow each other";
  let description = [{
    Before: a program that makes gradients along with its outputs: cotangents are known from the start. After: a backward finish of no
    sweep is part of the forward finish right before it, which is backward now, and results that nothing reads are gone. So one kernel
    computes what two computed, and values go from one to the other without memory.

    A finish stays as it is if it gathers entries at an index that the finish before it computes, since indices are read from memory.
    choose-schedule runs this pass on programs of mode `early`.
    Refuses: nothing.
  }];
}

def ChooseSchedulePass : Pass<"logitile-choose-schedule", "mlir::ModuleOp"> {
  let summary = "decides what is stored and what is computed again, within the byte budget";
  let description = [{
    Before: programs without a schedule, in a module with a `logitile.request`. After: the same, each with a
    `logitile.schedule`: buffers, launches with their tile sizes, loops over chunks of tokens and vocab_splits of the
    vocabulary, and the interval of token counts that it serves within the budget. The module gets the time that
    the cost model predicts, `logitile.predicted_seconds`.

    Kinds: nothing stored; logits stored for all tokens or for one chunk at a time; logits computed again; a part of the
    vocabulary stored. The cost model takes the fastest that fits.
    Refuses: a budget below the smallest schedule (names the minimum), a target that does not exist.
  }];
}

def SpecialisePass : Pass<"logitile-specialise", "mlir::ModuleOp"> {
  let summary = "instantiates the template of every launch";
  let description = [{
    Before: programs with a schedule. After: one `logitile.kernel` per launch beside the program, with every symbol and
    bundle of its template replaced and the program's regions in its holes.

    A launch that keeps logits in 16 bits stores the base of its sweep's exponential minus the running maximum so far, clamped to
    finite numbers, and that maximum, one for each tile and token. If the exponent is a softcap, it stores the argument of tanh,
    without a maximum. Gradients that computed the base from the logits read the stored base instead.
    Refuses: a launch that names a template, part or buffer that does not exist, leaves a parameter unbound, or binds
    one that the template does not have (a note shows the template); 16-bit logits of a sweep that has no running maximum or several,
    or that anything but a gradient reads, or a gradient for anything but the base; a schedule without memory for the maxima.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::scf::SCFDialect", "mlir::math::MathDialect"];
}

def FlushSubnormalsPass : Pass<"logitile-flush-subnormals", "mlir::ModuleOp"> {
  let summary = "subnormal numbers count as zero where they would only cost time";
  let description = [{
    Before: kernels beside the schedule that they are made from. After: on a target that is slow with subnormal numbers, kernels that
    write or read gradients of logits have `flushes_subnormals`. In the others, an exponential relative to a running maximum is 0
    where it would be subnormal, in the updates of row states: it is added to a sum whose largest term is 1. Other numbers of these
    kernels stay as they are. For targets that are as fast with subnormal numbers nothing changes.
    Refuses: a target that does not exist.
  }];
  let options = [Option<"target", "target", "std::string", "", "such as cpu:avx2; the default is that of the module's request">];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def ApproximateExponentialsPass : Pass<"logitile-approximate-exponentials", "mlir::ModuleOp"> {
  let summary = "exponentials are as exact as operands of 16 bits are worth";
  let description = [{
    Before: kernels of a module with a request. After: on a target with an instruction for 2^x, exponentials of kernels have the flag
    `afn` (approximate function) where all operands of projections and all Dense inputs have 16 bits: `logitile-expand-math` then
    makes them of that instruction, off by 7e-7 of themselves at most. In the updates of row states, an exponential relative to a
    running maximum that is only added up becomes `math.exp2` of a product, which is the instruction itself: the sum of V entries is off
    by log(V) 2^-23 + 2^-22. Beside float32, and for other targets, nothing changes.
    Refuses: a module without a request, and a target that does not exist.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::math::MathDialect"];
}

def ShareCodePass : Pass<"logitile-share-code", "mlir::ModuleOp"> {
  let summary = "finds kernels that do the same to different memory";
  let description = [{
    Before: kernels. After: the same; one that is like an earlier one but for the buffers of its arguments names that one
    as its `code`. Buffers that share memory do so in both. The gradients of two projections of one size are such
    kernels: their code is made and loaded once.
    Refuses: nothing.
  }];
}

def PrintSparseSlotsPass : Pass<"logitile-print-sparse-slots", "mlir::ModuleOp"> {
  let summary = "marks the row state that a single vocabulary entry per token decides";
  let description = [{
    Before: kernels. After: the same, with the numbers of such slots as `logitile.sparse` on every `update_state`.
    Refuses: nothing. For reading and for tests of the analysis.
  }];
}

def ExpandMathPass : Pass<"logitile-expand-math", "mlir::ModuleOp"> {
  let summary = "elementary functions become arithmetic";
  let description = [{
    Before: functions with math ops on f32 scalars or vectors. After: the same in arith and vector ops and those math
    ops that the instruction set has. Error bounds stand beside each function in MathFunctions.cpp. NaN, infinities and
    results below the normal range are as in the C library; there is no fast-math. A module for CPUs with more than
    `inlined` elementary functions calls private functions, one for each kind and type, instead of having the arithmetic
    of each in its place.
    Refuses: functions that are none of the language's.
  }];
  let options = [Option<"target", "target", "std::string", "", "such as cpu:avx2; the default is that of the module's request">,
                 Option<"inlined", "inlined", "int64_t", "500", "most elementary functions that stand in their places">];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect",
                           "mlir::math::MathDialect", "mlir::vector::VectorDialect"];
}

def CutBlocksPass : Pass<"logitile-cut-blocks", "mlir::ModuleOp"> {
  let summary = "long blocks become calls of functions";
  let description = [{
    Before: functions of device code. After: no block has more than `longest` ops, those of nested regions counted. The ops
    of a longer one stand in private functions, about `part` of them in each. A part stores what later parts read into
    memory of the function that calls it. Code generation takes more than linear time for a block; those of the library's
    losses have half as many.
    Refuses: nothing. A block with a value that cannot lie in memory stays whole.
  }];
  let options = [Option<"longest", "longest", "int64_t", "2500", "most ops of a block that stays whole">,
                 Option<"part", "part", "int64_t", "800", "ops of a part">];
  let dependentDialects = ["mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect"];
}

def ConvertDeviceToLLVMPass : Pass<"convert-device-to-llvm", "mlir::ModuleOp"> {
  let summary = "device code becomes functions of the llvm dialect";
  let description = [{
    Before: what `convert-tiles-to-cpu` or `convert-tiles-to-cuda`, and `logitile-expand-math` leave. After: llvm dialect
    only, beside the nvvm ops of GPU code; programs are gone.
    Refuses: ops of other dialects.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::cf::ControlFlowDialect"];
}
#endif
