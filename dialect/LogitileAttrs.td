//===- LogitileAttrs.td - enumerations and attributes of all levels --------------------------------------===//
// What is here: the words that ops take as attributes. Their spelling is generated; checks are in Attributes.cpp.
#ifndef LOGITILE_ATTRS_TD
#define LOGITILE_ATTRS_TD
include "dialect/LogitileDialect.td"

class Logitile_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::logitile";
  let genSpecializedAttr = 0;
}
class Logitile_EnumAttr<EnumInfo info, string mnemonic> : EnumAttr<Logitile_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}

def Logitile_InputKind : Logitile_Enum<"InputKind", "what a value of a region is read from", [
  I32EnumAttrCase<"Logits", 0, "logits">,     // one projection: hidden times weight
  I32EnumAttrCase<"Token", 1, "token">,       // one value per token
  I32EnumAttrCase<"Vocab", 2, "vocab">,       // one value per vocabulary entry
  I32EnumAttrCase<"Dense", 3, "dense">,       // one value per token and vocabulary entry
  I32EnumAttrCase<"Scalar", 4, "scalar">,     // one value for the whole call
  I32EnumAttrCase<"Upstream", 5, "upstream">, // the gradient that reaches an output, one per token
  I32EnumAttrCase<"Known", 6, "known">,       // what an earlier finish left, one per token
]>;
def Logitile_InputKindAttr : Logitile_EnumAttr<Logitile_InputKind, "input_kind">;

def Logitile_Combiner : Logitile_Enum<"Combiner", "how a reduction joins the entries of the vocabulary", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"ArgMax", 4, "argmax">,
  I32EnumAttrCase<"ArgMin", 5, "argmin">,
  I32EnumAttrCase<"LogSumExp", 6, "logsumexp">,
  I32EnumAttrCase<"Count", 7, "count">,
  I32EnumAttrCase<"Any", 8, "any">,
  I32EnumAttrCase<"All", 9, "all">,
]>;
def Logitile_CombinerAttr : Logitile_EnumAttr<Logitile_Combiner, "combiner">;

def Logitile_Phase : Logitile_Enum<"Phase", "when a part of a program runs", [
  I32EnumAttrCase<"Prologue", 0, "prologue">, // needs no logits: runs once for all tokens
  I32EnumAttrCase<"Forward", 1, "forward">,   // needs inputs only
  I32EnumAttrCase<"Adjoint", 2, "adjoint">,   // needs the upstream gradients as well
  I32EnumAttrCase<"Late", 3, "late">,         // summed while the gradient is made
]>;
def Logitile_PhaseAttr : Logitile_EnumAttr<Logitile_Phase, "phase">;

def Logitile_Layout : Logitile_Enum<"Layout", "where the elements of a view lie", [
  I32EnumAttrCase<"Strided", 0, "strided">,            // any two strides, given at the launch
  I32EnumAttrCase<"ColumnMajor", 1, "column_major">,   // entries of one column are neighbours
  I32EnumAttrCase<"RowPanels", 2, "row_panels">,       // [row / lanes][column][lane]: packed, lanes along rows
  I32EnumAttrCase<"ColumnPanels", 3, "column_panels">, // [column / lanes][row][lane]: packed, lanes along columns
]>;
def Logitile_LayoutAttr : Logitile_EnumAttr<Logitile_Layout, "layout">;

def Logitile_Scope : Logitile_Enum<"Scope", "how long the contents of a buffer are needed, and how many tokens it covers", [
  I32EnumAttrCase<"Input", 0, "input">,   // memory of the caller, read
  I32EnumAttrCase<"Output", 1, "output">, // memory of the caller, written
  I32EnumAttrCase<"Saved", 2, "saved">,   // workspace kept from forward to backward, all tokens
  I32EnumAttrCase<"Call", 3, "call">,     // workspace of one phase, all tokens
  I32EnumAttrCase<"Chunk", 4, "chunk">,   // workspace of one chunk of tokens
]>;
def Logitile_ScopeAttr : Logitile_EnumAttr<Logitile_Scope, "scope">;

def Logitile_Axis : Logitile_Enum<"Axis", "what a loop of the schedule runs over", [
  I32EnumAttrCase<"Tokens", 0, "tokens">, // chunks of tokens
  I32EnumAttrCase<"Slabs", 1, "slabs">,   // slabs of the vocabulary
]>;
def Logitile_AxisAttr : Logitile_EnumAttr<Logitile_Axis, "axis">;

def Logitile_Again : Logitile_Enum<"Again", "when a kernel adds to what is there, instead of starting from zero", [
  I32EnumAttrCase<"Never", 0, "never">,
  I32EnumAttrCase<"Tokens", 1, "tokens">, // after the first chunk of tokens
  I32EnumAttrCase<"Slabs", 2, "slabs">,   // after the first iteration over slabs
  I32EnumAttrCase<"Always", 3, "always">,
]>;
def Logitile_AgainAttr : Logitile_EnumAttr<Logitile_Again, "again">;

def Logitile_Mode : Logitile_Enum<"Mode", "which gradients a program makes, and when", [
  I32EnumAttrCase<"Forward", 0, "forward">, // outputs only
  I32EnumAttrCase<"Early", 1, "early">,     // outputs and gradients in one phase: upstream gradients are known at its start
  I32EnumAttrCase<"Split", 2, "split">,     // outputs in one phase, gradients in another
]>;
def Logitile_ModeAttr : Logitile_EnumAttr<Logitile_Mode, "mode">;

def Logitile_PairAttr : Logitile_Attr<"Pair", "pair"> {
  let summary = "one projection: hidden states times head weights";
  let description = [{
    `element` is the type of both operands in memory. Example: `#logitile.pair<"z", hidden = 1024, element = bf16>`.
  }];
  let parameters = (ins StringRefParameter<"name of the loss's parameter">:$name, "int64_t":$hidden, "mlir::Type":$element);
  let assemblyFormat = "`<` $name `,` `hidden` `=` $hidden `,` `element` `=` $element `>`";
  let genVerifyDecl = 1;
}

def Logitile_OutputAttr : Logitile_Attr<"Output", "output"> {
  let summary = "one output of a loss: a per-token value";
  let description = [{
    `type` is what the caller sees: f32, i32 or i1. Example: `#logitile.output<"loss" : f32>`.
  }];
  let parameters = (ins StringRefParameter<"name of the output">:$name, "mlir::Type":$type);
  let assemblyFormat = "`<` $name `:` $type `>`";
}

def Logitile_RequestAttr : Logitile_Attr<"Request", "request"> {
  let summary = "what one compilation was asked for";
  let description = [{
    Attached to the module as `logitile.request`, so that the text of any stage compiles again by itself.

    * `pairs`: the projections in the order of the loss's parameters.
    * `dense`: element types in memory of the Dense inputs, by name.
    * `gradients`: what is wanted: `hidden` and `weight` of a pair as `z.hidden`, `z.weight`, other inputs by their name.
    * `tokens`: the number of tokens of the call that asked; the schedule covers an interval around it.
    * `workspace`: byte budget; `chunks`: number of token chunks. Exactly one is non-zero.
    * `accumulate`: weight gradients are added into buffers of the caller.
    * `target`: `cpu:avx512_bf16`, `cpu:avx2`, ...; `threads`: how many work on it.

    ```mlir
    module attributes {logitile.request = #logitile.request<
        pairs = [#logitile.pair<"z", hidden = 1024, element = f32>], dense = {}, gradients = ["z.hidden"],
        gradient_elements = {}, mode = early, tokens = 4096, workspace = 268435456, chunks = 0,
        accumulate = false, target = "cpu:avx2", threads = 2>} {}
    ```
  }];
  let parameters = (ins ArrayRefParameter<"PairAttr">:$pairs, "mlir::DictionaryAttr":$dense,
                        "mlir::ArrayAttr":$gradients, "mlir::DictionaryAttr":$gradient_elements, "Mode":$mode,
                        "int64_t":$tokens, "int64_t":$workspace, "int64_t":$chunks, "bool":$accumulate,
                        StringRefParameter<"device kind and features">:$target, "int64_t":$threads);
  let assemblyFormat = [{
    `<` `pairs` `=` `[` $pairs `]` `,` `dense` `=` $dense `,` `gradients` `=` $gradients `,`
    `gradient_elements` `=` $gradient_elements `,` `mode` `=` $mode `,` `tokens` `=` $tokens `,`
    `workspace` `=` $workspace `,` `chunks` `=` $chunks `,` `accumulate` `=` $accumulate `,` `target` `=` $target `,`
    `threads` `=` $threads `>`
  }];
  let genVerifyDecl = 1;
}

def Logitile_DimAttr : Logitile_Attr<"SymbolicDim", "dim"> {
  let summary = "a dimension of a template that is not bound yet";
  let description = "Spelled as a bare word in capitals inside types: `!logitile.tile<TM x TN x acc>`.";
  let parameters = (ins StringRefParameter<>:$name);
  let assemblyFormat = "`<` $name `>`";
}
#endif
