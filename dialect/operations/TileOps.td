//===- TileOps.td - tiles: memory, products, sums -------------------------------------------------------------===//
// What is here: the ops of templates and kernels that move, multiply and add up tiles.
#ifndef LOGITILE_TILE_OPS_TD
#define LOGITILE_TILE_OPS_TD
include "dialect/operations/KernelOps.td"

let opDocGroup = Logitile_TilesStage in {

// ---- memory -------------------------------------------------------------------------------------

def Logitile_LoadOp : Logitile_Op<"load", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "a tile from memory, converted to the tile's element type";
  let description = [{
    `through` a map, row `i` is row `map[i]` of the view: ignored tokens are not in the map. In a
    bundle of inputs, each value uses its own index: Token inputs the row, Vocab inputs the column,
    Dense inputs both.

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
  let summary = "writes a tile to memory, rounded to the memory's element type, clipped to its extents";
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
    The loop over the hidden axis is inside, in blocks of `by`. `using` names the algorithm. Kernels
    have one; in a template, the launch chooses it.

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
  let summary = "the hole of a template for logits";
  let description = [{
    A launch with an algorithm computes logits, as `logitile.project` does. Any other launch loads
    the logits that an earlier one has stored.

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
    The loop over the shared axis is inside: from `first` to `end`, in blocks of `by`. The result
    starts from `plus` if `when` is true, and otherwise from zero. `using` names the algorithm.
    Kernels have one; in a template, the launch chooses it.

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
    `terms` alternate between columns (i32) and coefficients (f32), one of each per token: row `i`
    of the sparse operand holds coefficient `i` at column `i`. Sums are in float32, in ascending
    order of tokens. A term with a negative column is left out.

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

// ---- sparse terms and sums ----------------------------------------------------------------------

def Logitile_SparseTermsOp : Logitile_Op<"sparse_terms", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["tile", "result"]>]> {
  let summary = "the sparse terms (token, column, coefficient) of a gradient tile";
  let description = [{
    `add` adds each coefficient to the tile's entry at its column. `extract` adds the entry to the
    coefficient in memory and clears it, so that a contraction in 16 bits never sees it. `clear`
    clears the entry; its terms are only columns. `sum` is for a tile of one row, the sum over all
    tokens. `terms` alternate between columns and coefficients. For a sum they may be lists, with a
    column for each place.

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

def Logitile_ScaleRowsOp : Logitile_Op<"scale_rows", [Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "each row of a tile times the factor of its token";
  let description = [{
    Without factors the tile is not changed. In kernels a `map` replaces this op.

    ```mlir
    %scaled = logitile.scale_rows %sum by %factor : !logitile.tile<TM x TD x acc>, !logitile.factors<TM>
    ```
  }];
  let arguments = (ins Logitile_TileType:$tile, Logitile_BundleType:$factors);
  let results = (outs Logitile_TileType:$result);
  let assemblyFormat = "$tile `by` $factors attr-dict `:` type($tile) `,` type($factors)";
  let hasVerifier = 1;
}

def Logitile_AnyTokenOp : Logitile_Op<"any_token", [MemoryEffects<[MemRead]>]> {
  let summary = "whether a flag of some tokens is not 0";
  let description = [{
    Reads up to `tokens` flags, from `row` on and below `count`.

    ```mlir
    %any = logitile.any_token %raised at %row tokens TM below %count : !logitile.view<?xi32>
    ```
  }];
  let arguments = (ins Logitile_ViewType:$flags, Index:$row, Logitile_Extent:$tokens, Index:$count);
  let results = (outs I1:$result);
  let assemblyFormat = "$flags `at` $row `tokens` custom<Dim>($tokens) `below` $count attr-dict `:` type($flags)";
  let hasVerifier = 1;
}

def Logitile_SumRowsOp : Logitile_Op<"sum_rows", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "the sum of the rows of a view, in order";
  let description = [{
    Starts from `plus` if `when` is true, and otherwise from zero.

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
