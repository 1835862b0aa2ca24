//===- SpecOps.td - the loss of one token ------------------------------------------------------------------===//
// What is here: the ops of the spec stage. Elementwise maths that MLIR has is arith and math on
// scalars.
#ifndef LOGITILE_SPEC_OPS_TD
#define LOGITILE_SPEC_OPS_TD
include "dialect/types/LogitileTypes.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Logitile_SpecStage : OpDocGroup {
  let summary = "Stage 1, spec: the loss of one token";
  let description = "Scalar ops over the implicit vocabulary axis. Plans also use the ops that read inputs and describe gradients.";
}
let opDocGroup = Logitile_SpecStage in {

def Logitile_LossOp : Logitile_Op<"loss", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "a loss, written for one token";
  let description = [{
    The vocabulary axis is implicit: a value that depends on logits, on a Vocab or Dense input or on
    `column` is varying, every other one is uniform. Reductions and picks turn varying into uniform.
    Outputs are uniform, or lists.

    `of` names outputs and `wrt` inputs: the gradients of these outputs with respect to these inputs
    are wanted. `logitile-differentiate` then adds a `logitile.gradient`.

    ```mlir
    logitile.loss @cross_entropy vocab 32000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
      %z = logitile.input logits "z" : f32
      %target = logitile.input token "target" : i32
      %lse = logitile.reduce logsumexp %z : f32 -> f32
      %picked = logitile.gather %z[%target] : f32
      %loss = arith.subf %lse, %picked : f32
      logitile.yield %loss : f32
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Logitile_Int:$vocab, StrArrayAttr:$outputs,
                       OptionalAttr<StrArrayAttr>:$of, OptionalAttr<StrArrayAttr>:$wrt);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `vocab` $vocab `outputs` $outputs (`gradient` `of` $of^ `wrt` $wrt)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
}

def Logitile_InputOp : Logitile_Op<"input", [Pure]> {
  let summary = "a value that a region reads, by kind and name";
  let description = [{
    The kinds are those of the language: `logits` of a projection, one value per `token`, per
    `vocab` entry, per both (`dense`), or one for the call (`scalar`). Gradients also have
    `cotangent`, the gradient of an output. Two kinds have no name, because there is only one input
    of each: `slice_offset`, i32, is the first column of a slice of the vocabulary, and
    `token_index`, i32, is the index of the token among all tokens of the call, which callers do not
    pass. A token input with several entries per token has an index. With `places`, it is read as a
    whole: the result is a **list**, with one value for each of that many entries.

    ```mlir
    %z = logitile.input logits "student" : f32
    %second = logitile.input token "targets"[1] : i32
    %candidates = logitile.input token "candidates" places 64 : i32
    %token = logitile.input token_index : i32
    ```
  }];
  let arguments = (ins Logitile_InputKindAttr:$kind, DefaultValuedStrAttr<StrAttr, "">:$name, OptionalAttr<Logitile_Int>:$index,
                       OptionalAttr<Logitile_Int>:$places);
  let results = (outs Logitile_Scalar:$result);
  let assemblyFormat = "`` $kind ($name^)? (`[` $index^ `]`)? (`places` $places^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Kinds that differ along the vocabulary.
    bool isVaryingInput() {
      return getKind() == InputKind::Logits || getKind() == InputKind::Vocab || getKind() == InputKind::Dense;
    }
  }];
}

def Logitile_ColumnOp : Logitile_Op<"column", [Pure]> {
  let summary = "the index of the vocabulary entry; varying";
  let description = [{
    The index is global: vocabulary splits and slices of the vocabulary see the same numbers.

    ```mlir
    %column = logitile.column : i32
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Logitile_ReduceOp : Logitile_Op<"reduce", [Pure]> {
  let summary = "joins all entries of the vocabulary into one value per token";
  let description = [{
    `argmax` and `argmin` give the lowest index among equals, and the first NaN if there is one.
    `any` and `all` take and give i1, `count` takes i1 and gives i32. A `verbatim` sum adds the
    values exactly as they are rounded, if necessary in a separate sweep. Such a sum is later
    subtracted from the same values, so both must have the same roundings.

    `top` and `argtop` give the largest entries in order: every NaN, then the largest values, the
    lowest index first among equals. `places` is their number. The result is a **list**: it has one
    value for each place, as a varying value has one for each entry. A list of `top` can only be
    yielded. Code that computes with the largest entries gathers them at the indices of `argtop`, so
    that their gradients are those of a gather.

    ```mlir
    %lse = logitile.reduce logsumexp %z : f32 -> f32
    %best = logitile.reduce argmax %z : f32 -> i32
    %total = logitile.reduce sum verbatim %adjoint : f32 -> f32
    %best_five = logitile.reduce argtop %z places 5 : f32 -> i32
    ```
  }];
  let arguments = (ins Logitile_CombinerAttr:$combiner, UnitAttr:$verbatim, Logitile_Scalar:$value, OptionalAttr<Logitile_Int>:$places);
  let results = (outs Logitile_Scalar:$result);
  let assemblyFormat = [{
    `` $combiner (`verbatim` $verbatim^)? $value (`places` $places^)? attr-dict `:` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Logitile_GatherOp : Logitile_Op<"gather", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "the entry of a varying value at a uniform index";
  let description = [{
    If the value is a list of largest entries, the index is a constant: a place, counted from 0. The
    entry is uniform too. If the index is a list, from an input or an `argtop`, the result is a
    list: the entry at each of the indices.

    ```mlir
    %picked = logitile.gather %z[%target] : f32
    %fifth = logitile.gather %best_five[%c4] : i32
    %of_candidates = logitile.gather %z[%candidates] : f32
    ```
  }];
  let arguments = (ins Logitile_Scalar:$value, I32:$index);
  let results = (outs Logitile_Scalar:$result);
  let assemblyFormat = "$value `[` $index `]` attr-dict `:` type($result)";
}

def Logitile_SumListOp : Logitile_Op<"sum_list", [Pure, SameOperandsAndResultType]> {
  let summary = "the sum of a list over its places";
  let description = [{
    The list is a token input, an `argtop`, or computed elementwise from such lists and from
    per-token values. The sum is uniform.

    ```mlir
    %candidates = logitile.input token "candidates" places 64 : i32
    %of_candidates = logitile.gather %z[%candidates] : f32
    %sum = logitile.sum_list %of_candidates : f32
    ```
  }];
  let arguments = (ins F32:$list);
  let results = (outs F32:$result);
  let assemblyFormat = "$list attr-dict `:` type($list)";
}

def Logitile_MultiplyNoNanOp : Logitile_Op<"multiply_no_nan", [Pure, SameOperandsAndResultType]> {
  let summary = "a product in which a weight of 0 wins";
  let description = [{
    `weight == 0 ? 0 : weight * value`, even if the value is infinite or NaN. Weights are
    exponentials and values computed from them. So masked logits (-inf) need no special treatment.
    This is one op rather than a select, so that algebra can factor it.

    ```mlir
    %term = logitile.multiply_no_nan %p, %log_p : f32
    ```
  }];
  let arguments = (ins F32:$weight, F32:$value);
  let results = (outs F32:$result);
  let assemblyFormat = "$weight `,` $value attr-dict `:` type($result)";
}

def Logitile_SigmoidOp : Logitile_Op<"sigmoid", [Pure, SameOperandsAndResultType]> {
  let summary = "1 / (1 + exp(-x))";
  let description = [{
    ```mlir
    %p = logitile.sigmoid %z : f32
    ```
  }];
  let arguments = (ins F32:$operand);
  let results = (outs F32:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Logitile_SoftplusOp : Logitile_Op<"softplus", [Pure, SameOperandsAndResultType]> {
  let summary = "log(1 + exp(x)), without overflow";
  let description = [{
    ```mlir
    %s = logitile.softplus %z : f32
    ```
  }];
  let arguments = (ins F32:$operand);
  let results = (outs F32:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Logitile_UniformOp : Logitile_Op<"uniform", [Pure]> {
  let summary = "a random number of the open interval (0, 1)";
  let description = [{
    The number depends only on the four operands. It is computed from a word of Philox 4x32-10
    (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) with the key (seed,
    stream) and the counter (column & ~24, token, 0, 0). Bits 3 and 4 of the column are the number
    of the word. So columns c, c + 8, c + 16 and c + 24 have the four words of one block. A word w
    becomes (w + 0.5) / 2^32, rounded to f32 and at most 1 - 2^-24. So the smallest number is 2^-33.

    ```mlir
    %token = logitile.input token_index : i32
    %column = logitile.column : i32
    %u = logitile.uniform %seed, %stream, %token, %column : f32
    ```
  }];
  let arguments = (ins I32:$seed, I32:$stream, I32:$token, I32:$column);
  let results = (outs F32:$result);
  let assemblyFormat = "$seed `,` $stream `,` $token `,` $column attr-dict `:` type($result)";
}

def Logitile_StopGradientOp : Logitile_Op<"stop_gradient", [Pure, SameOperandsAndResultType]> {
  let summary = "its operand, through which no gradient flows";
  let description = [{
    ```mlir
    %weight = logitile.stop_gradient %p : f32
    ```
  }];
  let arguments = (ins F32:$operand);
  let results = (outs F32:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def Logitile_GradientOp : Logitile_Op<"gradient", [SingleBlock, NoTerminator, ParentOneOf<["LossOp", "ProgramOp"]>]> {
  let summary = "the gradients of the wanted inputs: one `adjoint` each";
  let description = [{
    In a loss it may use the values of the forward computation; in a program it reads them as
    `known` inputs. Only here may a loss read `cotangent`, the gradient of an output. In a program,
    `exponential` means that the gradient reads logits only through the base of the one exponential
    whose running maximum a sweep keeps: entries far below this maximum hardly matter.

    ```mlir
    logitile.gradient {
      %up = logitile.input cotangent "loss" : f32
      %down = arith.negf %up : f32
      %dense = arith.mulf %up, %p : f32
      logitile.adjoint logits "z" dense %dense sparse [%target -> %down]
    }
    ```
  }];
  let arguments = (ins UnitAttr:$exponential, OptionalAttr<Logitile_ReferenceAttr>:$reference);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`exponential` $exponential^)? (`relative` `to` $reference^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The adjoint whose dense part is multiplied with a factor of its token, or null: the sweep
    /// that makes the logits can store that part.
    AdjointOp factoredAdjoint();
  }];
  let hasRegionVerifier = 1;
}

def Logitile_AdjointOp : Logitile_Op<"adjoint", [AttrSizedOperandSegments, HasParent<"GradientOp">]> {
  let summary = "the gradient of one input";
  let description = [{
    `dense` is the gradient of every entry; each of `sparse` adds its coefficient to the entry of
    its column. They are separate so that the large, exact part at a target is never part of a
    rounded operand. An input with neither has a gradient of zero. A column may be a list, and its
    coefficient too: then each place is such an addend.

    ```mlir
    logitile.adjoint logits "z" dense %p sparse [%target -> %minus_one]
    logitile.adjoint scalar "temperature" dense %d
    ```

    With `places`, the gradient is that of an input that is read as a list: a list as well.

    In a program the dense part may be known while the logits are available, except for a factor
    that is the same for all entries of a token and known later. Then `dense` is the known part, and
    the gradient is `dense` times the factor. At the columns of `sparse`, the coefficient is the
    whole gradient.

    ```mlir
    logitile.adjoint logits "z" dense %p times %d sparse [%target -> %minus_one]
    ```
  }];
  let arguments = (ins Logitile_InputKindAttr:$kind, StrAttr:$name, OptionalAttr<Logitile_Int>:$index,
                       OptionalAttr<Logitile_Int>:$places, Optional<F32>:$dense, Optional<F32>:$factor,
                       Variadic<I32>:$columns, Variadic<F32>:$coefficients);
  let assemblyFormat = [{
    `` $kind $name (`[` $index^ `]`)? (`places` $places^)? (`dense` $dense^)? (`times` $factor^)?
    (`sparse` ` ` `[` custom<Sparse>($columns, $coefficients)^ `]`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Logitile_YieldOp : Logitile_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "the results of a region";
  let description = [{
    ```mlir
    logitile.yield %loss, %entropy : f32, f32
    ```
  }];
  let arguments = (ins Variadic<Logitile_Scalar>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}
} // opDocGroup
#endif
