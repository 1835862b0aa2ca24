//===- PlanOps.td - the plan of a loss: sweeps, finishes, gradient, schedule ----------------------------------===//
// What is here: the ops of the plan stage, except those that it shares with the spec (input,
// gradient, adjoint, yield).
#ifndef LOGITILE_PLAN_OPS_TD
#define LOGITILE_PLAN_OPS_TD
include "dialect/operations/SpecOps.td"

def Logitile_PlanStage : OpDocGroup {
  let summary = "Stage 2, plan: sweeps, finishes and the schedule";
  let description = "The passes over the vocabulary, the per-token results, and the kernels in their order.";
}
def Logitile_OutputArrayAttr : TypedArrayAttrBase<Logitile_OutputAttr, "array of outputs">;
def Logitile_ResultArrayAttr : TypedArrayAttrBase<Logitile_ResultAttr, "array of results">;
def Logitile_PickArrayAttr : TypedArrayAttrBase<Logitile_PickAttr, "array of picks">;

let opDocGroup = Logitile_PlanStage in {

  def Logitile_ProgramOp : Logitile_Op<"program", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, IsolatedFromAbove, Symbol, SymbolTable,
                                                   SingleBlock, NoTerminator]> {
    let summary = "the plan of one loss";
    let description = [{
    Sweeps, finishes and gradients in the order in which they run, then the schedule. Regions read
    what they need with `logitile.input`, and results of earlier finishes with `logitile.known`.
    Every output is such a result. The first gradient has the gradients of logits and of other
    arrays with a value per vocabulary entry. A second gradient has those that are one value per
    token or per call.

    A program of a slice of the vocabulary has `columns`: the number of entries of weights, Vocab
    and Dense inputs in the slice, while `vocab` is the number in all slices. `sweeps` is the number
    of forward and backward sweeps before `logitile-slice-program` extracted the part that the slice
    runs.

    `indices` names the token inputs that are used directly as an index; `checked` has the results
    that are computed indices. Both must be in the vocabulary when the program runs.

    Regions hold scalar arith and math ops, and gathers: a `logitile.gather` of a Vocab or Dense
    input at an index that is also an input. An op reads no result of a later phase, and no
    cotangent before the `backward` phase. Ops of the `prologue` phase read no logits.

    ```mlir
    logitile.program @log_partition vocab 32000 outputs [#logitile.output<"one" : f32 is <@constant[0]>>] indices [] checked [] {
      logitile.finish @constant forward results ["one" : f32] {
        %one = arith.constant 1.0 : f32
        logitile.yield %one : f32
      }
    }
    ```
  }];
    let arguments = (ins SymbolNameAttr:$sym_name, Logitile_Int:$vocab, OptionalAttr<Logitile_Int>:$columns,
        OptionalAttr<DenseI64ArrayAttr>:$sweeps, Logitile_OutputArrayAttr:$outputs, StrArrayAttr:$indices,
        Logitile_ResultArrayAttr:$checked);
    let regions = (region SizedRegion<1>:$body);
    let assemblyFormat = [{
    $sym_name `vocab` $vocab (`columns` $columns^)? (`sweeps` $sweeps^)? `outputs` $outputs `indices` $indices `checked` $checked
    attr-dict-with-keyword $body
  }];
    let hasRegionVerifier = 1;
    let extraClassDeclaration = [{
    /// Vocabulary entries that the program sees: those of its slice, or all.
    int64_t getWidth() { return getColumns().value_or(getVocab()); }
  }];
  }

def Logitile_SweepOp : Logitile_Op<"sweep", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "one pass over the vocabulary, and its row state";
  let description = [{
    The row state is an associative monoid. `init` gives its identity and reads nothing. `candidate`
    gives one candidate for each of the leading slots, the running maxima. `update` adds one
    vocabulary entry to a state whose maxima already cover the whole tile, so it needs no second
    exponential. `merge` joins two states: of tiles, vocabulary splits, threads or ranks.

    `update` takes the state, `merge` two states; they read everything else with `logitile.input`
    and `logitile.column`. A sweep that reads no input along the vocabulary goes `along` the logits
    of a projection, so that it has columns.

    In addition to its state a sweep may have `lists`: the largest values and their indices, one for
    each place of the list. `rank` gives the value of an entry for each list. Lists are in memory; a
    finish of the list sorts them.

    It may also have `picks`: the logits of a projection at each index of a list, which is a token
    input or a result of a finish. They are in memory, and finishes read them with
    `logitile.picked`. A pick at an index outside the vocabulary is NaN.

    ```mlir
    logitile.sweep @statistics forward state ["max" : f32, "sum" : f32] init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      %zero = arith.constant 0.0 : f32
      logitile.yield %lowest, %zero : f32, f32
    } candidate {
      %z = logitile.input logits "z" : f32
      logitile.yield %z : f32
    } update {
    ^bb0(%max: f32, %sum: f32):
      %z = logitile.input logits "z" : f32
      %x = arith.subf %z, %max : f32
      %e = math.exp %x : f32
      %next = arith.addf %sum, %e : f32
      logitile.yield %max, %next : f32, f32
    } merge {
    ^bb0(%max_a: f32, %sum_a: f32, %max_b: f32, %sum_b: f32):
      %max = arith.maxnumf %max_a, %max_b : f32
      %da = arith.subf %max_a, %max : f32
      %db = arith.subf %max_b, %max : f32
      %ea = math.exp %da : f32
      %eb = math.exp %db : f32
      %a = logitile.multiply_no_nan %ea, %sum_a : f32
      %b = logitile.multiply_no_nan %eb, %sum_b : f32
      %sum = arith.addf %a, %b : f32
      logitile.yield %max, %sum : f32, f32
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Logitile_PhaseAttr:$phase, OptionalAttr<StrAttr>:$along,
                       StrArrayAttr:$state_names, TypeArrayAttr:$state_types, OptionalAttr<DenseI64ArrayAttr>:$lists,
                       OptionalAttr<Logitile_PickArrayAttr>:$picks);
  let regions = (region SizedRegion<1>:$init, SizedRegion<1>:$candidate, SizedRegion<1>:$update, SizedRegion<1>:$merge,
                        MaxSizedRegion<1>:$rank);
  let assemblyFormat = [{
    $sym_name `` $phase (`along` $along^)? `state` custom<NamedTypes>($state_names, $state_types) (`lists` $lists^)?
    (`picks` $picks^)? attr-dict-with-keyword custom<StateRegions>($init, $candidate, $update, $merge) (`rank` $rank^)?
  }];
  let extraClassDeclaration = [{
    /// How many places each of its lists has.
    llvm::ArrayRef<int64_t> getPlaces() { return getLists().value_or(llvm::ArrayRef<int64_t>()); }
    /// What it picks; empty where that is nothing.
    llvm::SmallVector<PickAttr> listPicks();
  }];
  let hasRegionVerifier = 1;
}

def Logitile_FinishOp : Logitile_Op<"finish", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "per-token values from the state of a sweep";
  let description = [{
    The region takes the state of the sweep named by `of`, with all vocabulary splits merged;
    without a sweep it takes nothing. Later parts read its results by their number, with
    `logitile.known`; their names are for people. Sums, differences and products of per-token values
    keep their rounding error, so a result is often a pair of a high and a low part.

    A finish of a `list` of the sweep runs once for each place. Its region takes value and index
    there instead of the state. Its results have one value for each token and place: they are lists.
    With a `place`, counted from 0, it runs for that place alone: its results are then per-token
    values like those of any other finish.

    A slice of the vocabulary reads lists of other programs. A finish of the given `lists`, one or
    two of them, has their largest entries, as many as each has `places`. Each list is two names of
    token inputs with a number for each place, in order: the values, and the indices, where -1 means
    that there is no entry.

    A finish with only `places` runs once for each place of the lists that it reads: inputs with
    that many places, picks of sweeps at their indices, and lists from earlier finishes with that
    many places. Its results are lists. If it is `summed`, each result is the sum over all places
    instead: one value per token.

    ```mlir
    logitile.finish @after_statistics forward of @statistics results ["lse" : f32] {
    ^bb0(%max: f32, %sum: f32):
      %log = math.log %sum : f32
      %lse = arith.addf %max, %log : f32
      logitile.yield %lse : f32
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Logitile_PhaseAttr:$phase, OptionalAttr<FlatSymbolRefAttr>:$sweep,
                       StrArrayAttr:$result_names, TypeArrayAttr:$result_types, OptionalAttr<Logitile_Int>:$list,
                       OptionalAttr<StrArrayAttr>:$given, OptionalAttr<Logitile_Int>:$places, UnitAttr:$summed,
                       OptionalAttr<Logitile_Int>:$place);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` $phase (`of` $sweep^)? (`list` $list^)? (`lists` $given^)? (`places` $places^)? (`summed` $summed^)? (`place` $place^)?
    `results` custom<NamedTypes>($result_names, $result_types)
    attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// Whether its region takes value and index of a place of a list.
    bool isOfList() { return getList() || getGiven(); }
    /// Whether its region runs once for each place of the lists that it reads.
    bool isOfPlaces() { return getPlaces() && !getGiven(); }
    /// Whether its results have one value for each place of a list.
    bool givesLists() { return isOfPlaces() ? !getSummed() : isOfList() && !getPlace(); }
    /// How many places its list has; 0 where it is of none.
    int64_t countPlaces();
    int64_t countGiven() { return getGiven() ? getGiven()->size() / 2 : 0; }
  }];
  let hasRegionVerifier = 1;
}

def Logitile_KnownOp : Logitile_Op<"known", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a result of an earlier finish, for the current token";
  let description = [{
    A finish stores its results in memory, one value per token, or lists. Finishes with that many
    places read a list, and a gradient reads it as columns or coefficients. A symbol names the
    finish, as in launches and buffers, because operations that define a symbol have no SSA results
    in MLIR.

    ```mlir
    %lse = logitile.known <@after_statistics[0]> : f32
    ```
  }];
  let arguments = (ins Logitile_ResultAttr:$source);
  let results = (outs Logitile_Scalar:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
}

def Logitile_PickedOp : Logitile_Op<"picked", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a pick of an earlier sweep, at the current place";
  let description = [{
    `source` names the sweep by its symbol, and the pick by its number.

    ```mlir
    %of_candidates = logitile.picked <@statistics[0]> : f32
    ```
  }];
  let arguments = (ins Logitile_ResultAttr:$source);
  let results = (outs F32:$result);
  let assemblyFormat = "$source attr-dict `:` type($result)";
}
} // opDocGroup
#endif
