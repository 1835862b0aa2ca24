//===- TileOps.td - templates and kernels --------------------------------------------------------------------===//
// What is here: the ops of kernel skeletons and of the kernels made from them. Loops are scf, index
// maths is arith.
#ifndef LOGITILE_TILE_OPS_TD
#define LOGITILE_TILE_OPS_TD
include "dialect/SpecOps.td"

def Logitile_TilesStage : OpDocGroup {
  let summary = "Stage 3, tiles: templates and kernels";
  let description = "A template is a skeleton over symbols and bundles; a kernel is a template with everything bound.";
}
let opDocGroup = Logitile_TilesStage in {

// ---- templates and kernels ----------------------------------------------------------------------

class Logitile_KernelLike<string mnemonic, list<Trait> traits = []>
    : Logitile_Op<mnemonic, [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator] # traits> {
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Logitile_TemplateOp : Logitile_KernelLike<"template"> {
  let summary = "a kernel skeleton over symbolic dimensions, element types and bundles";
  let description = [{
    Parameters in capitals are dimensions, in small letters element types. What follows `from` says what a plain argument
    is given: a scalar of the launch, the buffer of a role that has no owner, or, in quotes, the buffer that the launch gives
    under this name. Bundles need none. Parallel loops are `scf.forall` at the top.

    `for` says what choose-schedule launches the template for, `on` which backends it serves, by the prefixes of their targets;
    without `on`, all. A template that names a backend goes before one that serves all.

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
    No dimension, element type or bundle of a template is left. What follows `from` is the buffer of a view, which the schedule
    defines, or a scalar of the launch. `aliases` names the buffers whose memory buffers of this kernel use; all others are
    apart. `code` names
    another kernel whose code a launch of this one runs, with this one's arguments: both do the same. With `flushes_subnormals`,
    subnormal operands count as zero and subnormal results become zero in all of its arithmetic.

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

// ---- memory -------------------------------------------------------------------------------------

def Logitile_LoadOp : Logitile_Op<"load", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "a tile from memory, converted to the tile's element type";
  let description = [{
    `through` a map, row `i` is row `map[i]` of the view: tokens that do not count are not in the map. Of a bundle of
    inputs, each value takes the index it has: tokens the row, vocabulary entries the column, dense inputs both.

    ```mlir
    %x = logitile.load %hidden at [%row, %zero] through %map
        : !logitile.view<?x64xbf16>, !logitile.view<?xi32> -> !logitile.tile<32x64xf32>
    ```
  }];
  let arguments = (ins Logitile_AnyView:$view, Variadic<Index>:$at, Optional<Logitile_ViewType>:$map);
  let results = (outs Logitile_AnyTile:$result);
  let assemblyFormat = [{
    $view `at` ` ` `[` $at `]` (`through` $map^)? attr-dict `:` type($view) (`,` type($map)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Logitile_StoreOp : Logitile_Op<"store", [MemoryEffects<[MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "a tile to memory, rounded to the memory's element type, clipped to its extents";
  let description = [{
    ```mlir
    logitile.store %tile to %out at [%row, %column] : !logitile.tile<32x64xf32> to !logitile.view<?x1024xbf16>
    ```
  }];
  let arguments = (ins Logitile_AnyTile:$value, Logitile_AnyView:$view, Variadic<Index>:$at, Optional<Logitile_AnyView>:$map);
  let assemblyFormat = [{
    $value `to` $view `at` ` ` `[` $at `]` (`through` $map^)? attr-dict `:` type($value) `to` type($view) (`,` type($map)^)?
  }];
  let hasVerifier = 1;
}

def Logitile_LoadGatherOp : Logitile_Op<"load_gather", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "one entry per token of a Vocab or Dense input, at an index per token";
  let description = [{
    An index outside the vocabulary reads the nearest entry; the runtime reports it.

    ```mlir
    %weight = logitile.load_gather %class_weight[%target]
        : !logitile.view<32000xf32>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
    ```
  }];
  let arguments = (ins Logitile_ViewType:$view, Logitile_TileType:$index, Optional<Index>:$row, Optional<Logitile_ViewType>:$map);
  let results = (outs Logitile_TileType:$result);
  let assemblyFormat = [{
    $view `[` $index `]` (`at` $row^)? (`through` $map^)? attr-dict `:` type($view) `,` type($index) (`,` type($map)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

// ---- contractions -------------------------------------------------------------------------------

def Logitile_ProjectOp : Logitile_Op<"project", [MemoryEffects<[MemRead]>]> {
  let summary = "logits of one tile: rows of hidden times rows of weight";
  let description = [{
    The loop over the hidden axis is inside, in blocks of `by`. `using` names the algorithm. Kernels have one; in a template,
    the launch chooses it.

    ```mlir
    %z = logitile.project %hidden, %weight at [%row, %column] by 512 using panels
        : !logitile.view<?x1024xf32, row_panels>, !logitile.view<32000x1024xf32> -> !logitile.tile<512x112xf32>
    ```
  }];
  let arguments = (ins Logitile_AnyView:$hidden, Logitile_AnyView:$weight, Index:$row, Index:$column, Logitile_Extent:$depth,
      OptionalAttr<Logitile_AlgorithmAttr>:$algorithm);
  let results = (outs Logitile_AnyTile:$result);
  let assemblyFormat = [{
    $hidden `,` $weight `at` ` ` `[` $row `,` $column `]` `by` custom<Dim>($depth) (`using` `` $algorithm^)? attr-dict
    `:` type($hidden) `,` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Logitile_LogitsOp : Logitile_Op<"logits", [MemoryEffects<[MemRead]>]> {
  let summary = "the hole of a template where logits come from";
  let description = [{
    A launch with an algorithm makes them, as `logitile.project` does. Any other launch loads what an earlier one has stored.

    ```mlir
    %z = logitile.logits of %hiddens, %weights by TK or %loaded at [%row, %column]
        : !logitile.hiddens, !logitile.weights or !logitile.stored_views -> !logitile.logits<TM x TN x acc>
    ```
  }];
  let arguments = (ins Logitile_BundleType:$hidden, Logitile_BundleType:$weight, Logitile_Extent:$depth, Logitile_BundleType:$stored,
      Index:$row, Index:$column);
  let results = (outs Logitile_BundleType:$result);
  let assemblyFormat = [{
    `of` $hidden `,` $weight `by` custom<Dim>($depth) `or` $stored `at` ` ` `[` $row `,` $column `]` attr-dict
    `:` type($hidden) `,` type($weight) `or` type($stored) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Logitile_ContractOp : Logitile_Op<"contract", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "one tile of lhs * rhs, or of lhs^T * rhs";
  let description = [{
    The loop over the shared axis is inside: from `first` to `end`, in blocks of `by`. The result starts from
    `plus`, where `when` holds, else from zero. `using` names the algorithm. Kernels have one; in a template, the launch
    chooses it.

    ```mlir
    %dw = logitile.contract %grad transposed, %hidden at [%row, %column] over [%zero to %count] by 512 using panels plus %out when %accumulate
        : !logitile.view<?x32000xf32, column_major>, !logitile.view<?x1024xf32, column_panels>
          plus !logitile.view<32000x1024xf32> -> !logitile.tile<112x512xf32>
    ```
  }];
  let arguments = (ins Logitile_ViewType:$lhs, Logitile_ViewType:$rhs, Index:$row, Index:$column, Index:$first, Index:$end,
      Logitile_Extent:$depth, Optional<Logitile_ViewType>:$plus, Optional<I1>:$when, Optional<Logitile_ViewType>:$map, UnitAttr:$transposed,
      OptionalAttr<Logitile_AlgorithmAttr>:$algorithm);
  let results = (outs Logitile_TileType:$result);
  let assemblyFormat = [{
    $lhs (`transposed` $transposed^)? `,` $rhs `at` ` ` `[` $row `,` $column `]` `over` ` ` `[` $first `to` $end `]` `by` custom<Dim>($depth)
    (`using` `` $algorithm^)? (`plus` $plus^ `when` $when)? (`through` $map^)? attr-dict
    `:` type($lhs) `,` type($rhs) (`plus` type($plus)^)? (`through` type($map)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Logitile_ContractSparseOp : Logitile_Op<"contract_sparse", [MemoryEffects<[MemRead]>, AllTypesMatch<["tile", "result"]>]> {
  let summary = "adds a sparse lhs * rhs, or lhs^T * rhs, to a tile";
  let description = [{
    `terms` alternate between columns (i32) and coefficients (f32), one of each per token: row `i` of the sparse
    operand holds coefficient `i` at column `i`. Sums run in fp32, tokens ascending. A term whose column is negative is
    left out.

    ```mlir
    %sum = logitile.contract_sparse %tile, [%target, %coefficient], %weight at [%row, %column] below %count
        : !logitile.tile<512x256xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<32000x1024xbf16>
    ```
  }];
  let arguments = (ins Logitile_TileType:$tile, Variadic<Logitile_AnyView>:$terms, Logitile_ViewType:$rhs, Index:$row,
                       Index:$column, Index:$count, UnitAttr:$transposed);
  let results = (outs Logitile_TileType:$result);
  let assemblyFormat = [{
    $tile `,` `[` $terms `]` (`transposed` $transposed^)? `,` $rhs `at` ` ` `[` $row `,` $column `]` `below` $count attr-dict
    `:` type($tile) `,` `[` type($terms) `]` `,` type($rhs)
  }];
  let hasVerifier = 1;
}

// ---- the loss inside a kernel -------------------------------------------------------------------

def Logitile_ApplyOp : Logitile_Op<"apply", [Pure, AttrSizedOperandSegments]> {
  let summary = "the hole of a template where the program's scalar regions enter";
  let description = [{
    A closed set: `@update` folds a tile into the row state, `@merge` joins two states, `@finish` makes the per-token
    results, `@gradient` the gradient of every element. `@base` makes what is stored of logits in 16 bits: the base of their
    exponential, as its distance from the running maximum so far, and that maximum, the centre.

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
    In a template it stands for the row state of the launch's sweep; in a kernel it holds the sweep's init region.

    ```mlir
    %start = logitile.init_state : !logitile.row_state<TM>
    ```
  }];
  let results = (outs Variadic<Logitile_AnyTile>:$state);
  let regions = (region MaxSizedRegion<1>:$init);
  let assemblyFormat = "attr-dict `:` type($state) ($init^)?";
  let hasRegionVerifier = 1;
}

def Logitile_UpdateStateOp : Logitile_Op<"update_state", [Pure, AttrSizedOperandSegments,
    RangedTypesMatchWith<"the next row state has the types of the last", "state", "results", "$_self">]> {
  let summary = "folds one tile into the row state of a sweep";
  let description = [{
    Columns from `below` on are left out. `candidate` takes the inputs, `update` the state and the inputs, `merge` two
    states and the inputs, of which it uses only those without a vocabulary axis. `logitile.column` in `candidate` and
    `update` is `at` plus the element's column.

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
  let results = (outs Variadic<Logitile_TileType>:$results);
  let regions = (region SizedRegion<1>:$init, SizedRegion<1>:$candidate, SizedRegion<1>:$update, SizedRegion<1>:$merge);
  let assemblyFormat = [{
    `(` $state `)` `with` `(` $inputs `)` `at` $column `below` $limit attr-dict-with-keyword
    `:` `(` type($state) `)` `,` `(` type($inputs) `)`
    custom<StateRegions>($init, $candidate, $update, $merge)
  }];
  let hasRegionVerifier = 1;
}

def Logitile_UpdateListsOp : Logitile_Op<"update_lists", [AttrSizedOperandSegments]> {
  let summary = "takes the entries of one tile into the lists of a sweep";
  let description = [{
    Each list lies in memory: of every token and group of vocabulary splits as many 64-bit words as it has `places`. A word orders
    entries: its upper half is the value as an integer, NaN above all, its lower half is the largest for the lowest index. Where `at` is the column
    `first`, all lists of the tile are empty before. `rank` takes the inputs and gives one value for each list. Words are in no order.

    In a template it stands for the lists of the launch's sweep; in a kernel it holds the sweep's rank region.

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
  let summary = "puts a list in order and makes the results of its finish";
  let description = [{
    Joins the `splits` lists of each token, one of every group of vocabulary splits, and sorts them, the best first. The region takes value
    and index of one place and the inputs, and gives the results there. With a `place`, counted from 0, it gives those of that place only,
    one per token. A list that is in order already stays as it is, so several finishes may read one list.

    Lists of slices are given in order, as values and indices: `splits` of them, one or two. They are read as they are, and nothing is sorted.

    In a template it stands for the list of the launch's finish; in a kernel it holds the region of the finish.

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
  let summary = "takes the logits of one tile at the indices of lists";
  let description = [{
    `picks` alternate between indices and memory for what is picked, each with a row for each token and a column for each place. Where an
    index lies in the tile, its logit goes to the same place. With the first tile, NaN goes to each place whose index is not `below` the size
    of the vocabulary. Each pick has a tile in `logits`.

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
  let summary = "makes the results of a finish at each place of lists";
  let description = [{
    The region takes a value of each list and the inputs, and gives the results. They go to the same place of `results`, or where the finish
    is `summed`, their sums over all places to one value per token. A sum carries what its additions lose.

    `reads` says how many views each list has: 1, a list in memory; 2, a list of indices and a Vocab input, whose entries there are read;
    3, a list of indices, a Dense input and the map of its rows.

    In a template it stands for the finish of the launch; in a kernel it holds the region of the finish.

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
    An operand whose extent is 1 along an axis is repeated along it. `logitile.column` in the region is `at` plus the
    element's column. A map that `merges` joins two row states, its first operands: it is associative, so that a loop of such
    maps may join states in any groups.

    ```mlir
    %g = logitile.map(%z, %lse) at %column : (!logitile.tile<64x32xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x32xf32> {
    ^bb0(%z_in: f32, %lse_in: f32):
      %x = arith.subf %z_in, %lse_in : f32
      %p = math.exp %x : f32
      logitile.yield %p : f32
    }
    ```
  }];
  let arguments = (ins Variadic<Logitile_TileType>:$inputs, Optional<Index>:$column, UnitAttr:$merges);
  let results = (outs Variadic<Logitile_TileType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` (`at` $column^)? (`merges` $merges^)? attr-dict `:` functional-type($inputs, $results) $body";
  let hasRegionVerifier = 1;
}

def Logitile_SparseTermsOp : Logitile_Op<"sparse_terms", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["tile", "result"]>]> {
  let summary = "the sparse terms (token, column, coefficient) of a gradient tile";
  let description = [{
    `add` adds each coefficient to the tile's entry at its column. `extract` adds the entry to the coefficient in memory
    and clears it, so that a contraction in 16 bits never sees it. `sum` is for a tile of one row, the sum over all
    tokens. `terms` alternate between columns and coefficients. For a sum they may be lists, with a column for each place.

    ```mlir
    %exact = logitile.sparse_terms add %g, [%target, %coefficient] at [%row, %column] below %count
        : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
    ```
  }];
  let arguments = (ins Logitile_TermActionAttr:$action, Logitile_AnyTile:$tile, Variadic<Logitile_AnyView>:$terms,
                       Index:$row, Index:$column, Index:$count);
  let results = (outs Logitile_AnyTile:$result);
  let assemblyFormat = [{
    `` $action $tile `,` `[` $terms `]` `at` ` ` `[` $row `,` $column `]` `below` $count attr-dict `:` type($tile) `,` `[` type($terms) `]`
  }];
  let hasVerifier = 1;
}

def Logitile_ScatterTermsOp : Logitile_Op<"scatter_terms", [AttrSizedOperandSegments]> {
  let summary = "adds sparse terms that are lists to a tile of a gradient in memory";
  let description = [{
    `terms` alternate between columns and coefficients, each with a row for each token and a column for each place. Each place adds its
    coefficient to the entry at its column, if that lies in the tile of `columns` columns at `at`; places ascend, and one column may be named by
    several. The tile was stored before.

    In a template `terms` are those of all gradients; in a kernel an op is for one gradient.

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

def Logitile_SumRowsOp : Logitile_Op<"sum_rows", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "the sum of the rows of a view, in order";
  let description = [{
    Starts from `plus` where `when` holds, else from zero.

    ```mlir
    %sum = logitile.sum_rows %partial at %column below %blocks plus %out when %accumulate
        : !logitile.view<?x32000xf32> plus !logitile.view<1x32000xf32> -> !logitile.tile<1x512xf32>
    ```
  }];
  let arguments = (ins Logitile_ViewType:$view, Index:$column, Index:$count, Optional<Logitile_ViewType>:$plus, Optional<I1>:$when);
  let results = (outs Logitile_TileType:$result);
  let assemblyFormat = [{
    $view `at` $column `below` $count (`plus` $plus^ `when` $when)? attr-dict `:` type($view) (`plus` type($plus)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Logitile_SumTokensOp : Logitile_Op<"sum_tokens", [Pure]> {
  let summary = "the sum of a tile over its tokens";
  let description = [{
    ```mlir
    %sum = logitile.sum_tokens %g at %row below %count : !logitile.tile<64x32xf32> -> !logitile.tile<1x32xf32>
    ```
  }];
  let arguments = (ins Logitile_AnyTile:$tile, Index:$row, Index:$count);
  let results = (outs Logitile_AnyTile:$result);
  let assemblyFormat = "$tile `at` $row `below` $count attr-dict `:` type($tile) `->` type($result)";
  let hasVerifier = 1;
}
} // opDocGroup
#endif
