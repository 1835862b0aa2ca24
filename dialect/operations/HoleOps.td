//===- HoleOps.td - the loss inside a kernel ------------------------------------------------------------------===//
// What is here: the holes of templates, and the ops that fill them in kernels: row states, lists,
// and scalar code on tiles.
#ifndef LOGITILE_HOLE_OPS_TD
#define LOGITILE_HOLE_OPS_TD
include "dialect/operations/KernelOps.td"

let opDocGroup = Logitile_TilesStage in {

def Logitile_ApplyOp : Logitile_Op<"apply", [Pure, AttrSizedOperandSegments]> {
  let summary = "a hole of a template for the program's scalar regions";
  let description = [{
    The holes are a closed set: `@update` adds a tile to the row state, `@merge` joins two states,
    `@finish` computes the per-token results, `@gradient` the gradient of every element. `@base`
    computes what is stored for logits in 16 bits: the base of their exponential, as its distance
    from the current running maximum, and that maximum, the centre.

    ```mlir
    %next = logitile.apply @update(%running, %z, %in) at %column below V
        : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.row_state<TM>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$hole, Variadic<Logitile_BundleType>:$inputs, Optional<Index>:$column,
                       OptionalAttr<Logitile_Extent>:$limit);
  let results = (outs Variadic<Logitile_BundleType>:$results);
  let assemblyFormat = [{
    $hole `(` $inputs `)` (`at` $column^ `below` custom<Dim>($limit))? attr-dict `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
}

def Logitile_InitStateOp : Logitile_Op<"init_state", [Pure]> {
  let summary = "the row state before the first vocabulary entry";
  let description = [{
    In a template it stands for the row state of the launch's sweep; in a kernel it holds the
    sweep's init region.

    ```mlir
    %start = logitile.init_state : !logitile.row_state<TM>
    ```
  }];
  let results = (outs Variadic<Logitile_AnyTile>:$state);
  let regions = (region MaxSizedRegion<1>:$init);
  let assemblyFormat = "attr-dict `:` type($state) ($init^)?";
  let hasRegionVerifier = 1;
}

def Logitile_UpdateStateOp : Logitile_Op<"update_state", [Pure, AttrSizedOperandSegments, AttrSizedResultSegments,
    RangedTypesMatchWith<"the next row state has the types of the last", "state", "results", "$_self">]> {
  let summary = "adds one tile to the row state of a sweep";
  let description = [{
    Columns from `below` on are left out. `candidate` takes the inputs, `update` the state and the
    inputs, `merge` two states and the inputs, of which it uses only those without a vocabulary
    axis. `logitile.column` in `candidate` and `update` is `at` plus the element's column.

    After the state, `update` may yield one value for each of the `entries`. These are tiles of all
    elements, also of columns from `below` on. The values may depend on the inputs, and on maxima
    that `update` does not change. Such a maximum is at least the element's own candidate; of how
    many other columns it is the maximum depends on the target.

    ```mlir
    %next:2 = logitile.update_state(%max, %sum) with (%z) at %column below 32000
        : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      %zero = arith.constant 0.0 : f32
      logitile.yield %lowest, %zero : f32, f32
    } candidate {
    ^bb0(%z_in: f32):
      logitile.yield %z_in : f32
    } update {
    ^bb0(%m: f32, %s: f32, %z_in: f32):
      %x = arith.subf %z_in, %m : f32
      %e = math.exp %x : f32
      %next_sum = arith.addf %s, %e : f32
      logitile.yield %m, %next_sum : f32, f32
    } merge {
    ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32, %z_in: f32):
      %m = arith.maxnumf %ma, %mb : f32
      %s = arith.addf %sa, %sb : f32
      logitile.yield %m, %s : f32, f32
    }
    ```
  }];
  let arguments = (ins Variadic<Logitile_TileType>:$state, Variadic<Logitile_TileType>:$inputs, Index:$column, Logitile_Int:$limit);
  let results = (outs Variadic<Logitile_TileType>:$results, Variadic<Logitile_TileType>:$entries);
  let regions = (region SizedRegion<1>:$init, SizedRegion<1>:$candidate, SizedRegion<1>:$update, SizedRegion<1>:$merge);
  let assemblyFormat = [{
    `(` $state `)` `with` `(` $inputs `)` `at` $column `below` $limit attr-dict-with-keyword
    `:` custom<UpdateTypes>(type($state), type($inputs), type($results), type($entries))
    custom<StateRegions>($init, $candidate, $update, $merge)
  }];
  let hasRegionVerifier = 1;
}

def Logitile_UpdateListsOp : Logitile_Op<"update_lists", [AttrSizedOperandSegments]> {
  let summary = "adds the entries of one tile to the lists of a sweep";
  let description = [{
    Each list is in memory: for every token and group of vocabulary splits, one 64-bit word for each
    of its `places`. Words order entries: the upper half is the value as an integer, with NaN above
    all numbers; the lower half is largest for the lowest index. If `at` is the column `first`, all
    lists of the tile start empty. `rank` takes the inputs and gives one value for each list. The
    words are not sorted.

    In a template it stands for the lists of the launch's sweep; in a kernel it holds the sweep's
    rank region.

    ```mlir
    logitile.update_lists %list with(%z : !logitile.tile<512x112xf32>) at [%vocab_split, %row, %column] from %first tokens 512 places [50]
        : !logitile.view<?x800xi64> {
    ^bb0(%z_in: f32):
      logitile.yield %z_in : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Logitile_AnyView>:$lists, Variadic<Logitile_AnyTile>:$inputs, Index:$vocab_split, Index:$row, Index:$column,
                       Index:$first, Logitile_Extent:$tokens, OptionalAttr<DenseI64ArrayAttr>:$places);
  let regions = (region MaxSizedRegion<1>:$rank);
  let assemblyFormat = [{
    $lists (`with` `(` $inputs^ `:` type($inputs) `)`)? `at` ` ` `[` $vocab_split `,` $row `,` $column `]` `from` $first `tokens` custom<Dim>($tokens)
    (`places` $places^)? attr-dict `:` type($lists) ($rank^)?
  }];
  let hasRegionVerifier = 1;
}

def Logitile_FinishListOp : Logitile_Op<"finish_list", [AttrSizedOperandSegments]> {
  let summary = "sorts a list and computes the results of its finish";
  let description = [{
    Joins the `splits` lists of each token, one for every group of vocabulary splits, and sorts
    them, the best first. The region takes value and index of one place and the inputs, and gives
    the results of that place. With a `place`, counted from 0, only this place has results, one per
    token. A list that is already sorted is not changed, so several finishes may read one list.

    Lists of slices are given in order, as values and indices: `splits` of them, one or two. They
    are read as they are, and not sorted.

    In a template it stands for the list of the launch's finish; in a kernel it holds the region of
    the finish.

    ```mlir
    logitile.finish_list %list with(%in : !logitile.tile<512x1xf32>) at %row tokens 512 splits 16 places 50 to %values, %indices
        : !logitile.view<?x800xi64> to !logitile.view<?x50xf32>, !logitile.view<?x50xi32> {
    ^bb0(%value: f32, %index: i32, %lse: f32):
      %log_p = arith.subf %value, %lse : f32
      logitile.yield %log_p, %index : f32, i32
    }
    ```
  }];
  let arguments = (ins Variadic<Logitile_AnyView>:$lists, Variadic<Logitile_AnyTile>:$inputs, Variadic<Logitile_AnyView>:$results, Index:$row,
                       Logitile_Extent:$tokens, Logitile_Extent:$splits, OptionalAttr<Logitile_Int>:$places, OptionalAttr<Logitile_Int>:$place);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    $lists (`with` `(` $inputs^ `:` type($inputs) `)`)? `at` $row `tokens` custom<Dim>($tokens) `splits` custom<Dim>($splits)
    (`places` $places^)? (`place` $place^)? `to` $results attr-dict `:` type($lists) `to` type($results) ($body^)?
  }];
  let extraClassDeclaration = [{
    /// Whether the lists are those of slices, in order, instead of what vocabulary splits left.
    bool takesGiven() { return getLists().size() > 1; }
  }];
  let hasRegionVerifier = 1;
}

def Logitile_PickEntriesOp : Logitile_Op<"pick_entries", [AttrSizedOperandSegments]> {
  let summary = "reads the logits of one tile at the indices of lists";
  let description = [{
    `picks` alternate between indices and memory for the picked logits, each with a row for each
    token and a column for each place. If an index is in the tile, its logit is written to the same
    place. With the first tile, NaN is written to each place whose index is not `below` the size of
    the vocabulary. Each pick has a tile in `logits`.

    ```mlir
    logitile.pick_entries %z to [%candidates, %picked] at [%row, %column] tokens 512 below 32000
        : !logitile.tile<512x112xf32> to [!logitile.view<?x64xi32, column_major>, !logitile.view<?x64xf32, column_major>]
    ```
  }];
  let arguments = (ins Variadic<Logitile_AnyTile>:$logits, Variadic<Logitile_AnyView>:$picks, Index:$row, Index:$column,
                       Logitile_Extent:$tokens, Logitile_Extent:$vocab);
  let assemblyFormat = [{
    $logits `to` ` ` `[` $picks `]` `at` ` ` `[` $row `,` $column `]` `tokens` custom<Dim>($tokens) `below` custom<Dim>($vocab)
    attr-dict `:` type($logits) `to` ` ` `[` type($picks) `]`
  }];
  let hasVerifier = 1;
}

def Logitile_FinishPlacesOp : Logitile_Op<"finish_places", [AttrSizedOperandSegments]> {
  let summary = "computes the results of a finish at each place of lists";
  let description = [{
    The region takes a value of each list and the inputs, and gives the results. They are written to
    the same place of `results`. If the finish is `summed`, their sums over all places are written,
    one value per token. A sum also carries its rounding error.

    `reads` is the number of views of each list: 1 for a list in memory; 2 for a list of indices and
    a Vocab input, whose entries at these indices are read; 3 for a list of indices, a Dense input
    and the map of its rows.

    In a template it stands for the finish of the launch; in a kernel it holds the region of the
    finish.

    ```mlir
    logitile.finish_places %picked, %teacher with(%in : !logitile.tile<512x1xf32>) at %row tokens 512 places 64 reads [1, 1] summed to %sum
        : !logitile.view<?x64xf32, column_major>, !logitile.view<?x64xf32, column_major> to !logitile.view<?xf32> {
    ^bb0(%z: f32, %t: f32, %lse: f32):
      %log_p = arith.subf %z, %lse : f32
      %term = arith.mulf %t, %log_p : f32
      logitile.yield %term : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Logitile_AnyView>:$lists, Variadic<Logitile_AnyTile>:$inputs, Variadic<Logitile_AnyView>:$results, Index:$row,
                       Logitile_Extent:$tokens, OptionalAttr<Logitile_Int>:$places, OptionalAttr<DenseI64ArrayAttr>:$reads, UnitAttr:$summed);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = [{
    $lists (`with` `(` $inputs^ `:` type($inputs) `)`)? `at` $row `tokens` custom<Dim>($tokens)
    (`places` $places^)? (`reads` $reads^)? (`summed` $summed^)? `to` $results attr-dict (`:` type($lists)^)? `to` type($results) ($body^)?
  }];
  let hasRegionVerifier = 1;
}

def Logitile_MapOp : Logitile_Op<"map", [Pure, AttrSizedOperandSegments]> {
  let summary = "an elementwise scalar region over tiles";
  let description = [{
    An operand whose extent is 1 along an axis is repeated along it. `logitile.column` in the region
    is `at` plus the element's column. A map that `merges` joins two row states, its first operands.
    It is associative, so a loop of such maps may group the states in any way. An `early` map makes
    the early part of a gradient. Rows in which one of its exponentials is larger than 2^31 are
    computed again by a later kernel, so nothing depends on what this map makes of them.

    ```mlir
    %g = logitile.map(%z, %lse) at %column : (!logitile.tile<64x32xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x32xf32> {
    ^bb0(%z_in: f32, %lse_in: f32):
      %x = arith.subf %z_in, %lse_in : f32
      %p = math.exp %x : f32
      logitile.yield %p : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Logitile_TileType>:$inputs, Optional<Index>:$column, UnitAttr:$merges, UnitAttr:$early);
  let results = (outs Variadic<Logitile_TileType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` (`at` $column^)? (`merges` $merges^)? (`early` $early^)? attr-dict `:` functional-type($inputs, $results) $body
  }];
  let hasRegionVerifier = 1;
}

def Logitile_ScatterTermsOp : Logitile_Op<"scatter_terms", [AttrSizedOperandSegments]> {
  let summary = "adds sparse terms that are lists to a tile of a gradient in memory";
  let description = [{
    `terms` alternate between columns and coefficients, each with a row for each token and a column
    for each place. Each place adds its coefficient to the entry at its column, if that is in the
    tile of `columns` columns at `at`. Places are added in ascending order, and several may name one
    column. The tile must have been stored before.

    In a template `terms` are those of all gradients; in a kernel each op is for one gradient.

    ```mlir
    logitile.scatter_terms [%candidates, %coefficients] to %grad at [%row, %column] tokens 512 columns 112
        : [!logitile.view<?x64xi32, column_major>, !logitile.view<?x64xf32, column_major>] to !logitile.view<?x32000xbf16>
    ```
  }];
  let arguments = (ins Variadic<Logitile_AnyView>:$terms, Variadic<Logitile_AnyView>:$gradients, Index:$row, Index:$column, Logitile_Extent:$tokens,
                       Logitile_Extent:$columns);
  let assemblyFormat = [{
    ` ` `[` $terms `]` `to` $gradients `at` ` ` `[` $row `,` $column `]` `tokens` custom<Dim>($tokens) `columns` custom<Dim>($columns) attr-dict
    `:` ` ` `[` type($terms) `]` `to` type($gradients)
  }];
  let hasVerifier = 1;
}
} // opDocGroup
#endif
