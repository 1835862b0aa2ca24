//===- LogitileTypes.td - types of templates and kernels ------------------------------------------------===//
// What is here: tiles, views and bundles. How they are spelled is Types.cpp, since symbols may
// stand for dimensions.
#ifndef LOGITILE_TYPES_TD
#define LOGITILE_TYPES_TD
include "dialect/types/LogitileAttrs.td"

// No mnemonic: the dialect spells its types by hand, so the name has to be given here.
class Logitile_Type<string name, string word> : TypeDef<Logitile_Dialect, name> {
  let typeName = "logitile." # word;
}

def Logitile_TileType : Logitile_Type<"Tile", "tile"> {
  let summary = "a tile: an on-chip block of tokens x vocabulary or of a gradient";
  let description = [{
    Dimensions are integers or symbols of the enclosing template. A dimension of 1 is repeated along the other tiles
    of a `map`: `tile<128x1xf32>` holds one value per token, `tile<1x64xf32>` one per vocabulary entry.

    ```mlir
    !logitile.tile<128x64xf32>
    !logitile.tile<TM x TN x acc>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"mlir::Attribute">:$dims, "mlir::Type":$element);
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Extent of one dimension; the tile must belong to a kernel, where no symbol is left.
    int64_t getExtent(unsigned dim) const;
  }];
}

def Logitile_ViewType : Logitile_Type<"View", "view"> {
  let summary = "a view: memory of the caller or of the workspace";
  let description = [{
    `?` is an extent that is known at run time only: a number of tokens or of vocabulary splits. The layout says where elements
    lie; without one, any two strides are allowed.

    ```mlir
    !logitile.view<?x1024xf32>
    !logitile.view<?x32000xf32, column_major>
    !logitile.view<? x V x acc>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"mlir::Attribute">:$dims, "mlir::Type":$element,
                        DefaultValuedParameter<"Layout", "Layout::Strided">:$layout);
  let genVerifyDecl = 1;
}

def Logitile_BundleType : Logitile_Type<"Bundle", "bundle"> {
  let summary = "a bundle: as many values of one kind as the program has, possibly none";
  let description = [{
    Only templates have bundles; specialise replaces each by the values that it stands for.

    ```mlir
    !logitile.logits<TM x TN x acc>
    !logitile.row_state<TM>
    !logitile.weights
    ```

    | values | stand for |
    |---|---|
    | `logits<TM x TN x acc>` | a tile of every projection |
    | `grads<TM x TN x acc>` | the gradient of every projection that needs one |
    | `vocab_grads<...>`, `dense_grads<...>` | the per-element gradients of Vocab and Dense inputs |
    | `row_state<TM>` | the row state of the launch's sweep |
    | `inputs<TM x TN>` | what the launch's regions read beside logits |
    | `results<TM>` | what the launch's finish yields |
    | `bases<TM x TN x acc>`, `centres<TM>` | what is stored of logits in 16 bits, and the maxima that it is relative to |
    | `factors<TM>` | what the gradient of logits is multiplied with, where its dense part was stored by a sweep |

    | memory | stands for |
    |---|---|
    | `hiddens`, `weights` | the operands of every projection, where the launch makes logits |
    | `stored_views` | stored logits, where the launch reads them instead |
    | `logit_views`, `grad_views` | where logits are stored in 32 bits; gradients of logits |
    | `base_views` | where logits are stored in 16 bits |
    | `centre_views` | the maxima that stored 16-bit logits are relative to, `[tile of columns][token]` |
    | `vocab_grad_views`, `dense_grad_views` | sums over blocks of tokens `[block][column]`; gradients of Dense inputs |
    | `input_views` | token, vocab, dense, scalar, cotangent and known values |
    | `state_views` | row states of vocabulary splits, `[vocabulary split][token]` |
    | `result_views` | per-token results |
    | `sparse_views` | columns and coefficients of sparse terms that are added to a gradient |
    | `list_views` | the lists of the sweep, or the one of the finish |
    | `pick_views` | for each pick of the sweep the indices, and where the logits there go |
    | `place_views` | what the finish reads at each place of its lists |
    | `extracted_views` | those of sparse terms that are taken out of a rounded gradient |
    | `cleared_views` | columns of sparse terms of a gradient that a sweep stores |
    | `listed_views` | those of sparse terms that are lists |
    | `factor_views` | the factors of tokens of such a gradient |
    | `row_maps` | the map of tokens, where rows go to memory of the caller |
  }];
  let parameters = (ins "BundleKind":$kind, ArrayRefParameter<"mlir::Attribute">:$dims, "mlir::Type":$element);
  let genVerifyDecl = 1;
}

def Logitile_SymbolicType : Logitile_Type<"Symbolic", "sym"> {
  let summary = "an element type of a template that is not bound yet";
  let description = "Spelled as a bare word in small letters inside types: `!logitile.tile<TM x TN x acc>`.";
  let parameters = (ins StringRefParameter<>:$name);
}

def Logitile_RoundedType : Logitile_Type<"Rounded", "rounded"> {
  let summary = "an element of a view that is rounded when it is read";
  let description = [{
    Memory holds numbers of the type `memory`; whoever reads one gets it in the precision of `value`. So operands are
    rounded on the way to a contraction, and no copy of them exists. Such a view is never written. In shapes it is
    spelled with the word `to`.

    ```mlir
    !logitile.view<32000x1024xf32 to bf16>
    !logitile.rounded<f32 to bf16>
    ```
  }];
  let parameters = (ins "mlir::Type":$memory, "mlir::Type":$value);
  let genVerifyDecl = 1;
}

def Logitile_AnyTile : AnyTypeOf<[Logitile_TileType, Logitile_BundleType], "a tile or a bundle of tiles">;
def Logitile_AnyView : AnyTypeOf<[Logitile_ViewType, Logitile_BundleType], "a view or a bundle of views">;
#endif
