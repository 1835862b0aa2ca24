//===- LogitileAttrs.td - enumerations and attributes of all levels --------------------------------------===//
// What is here: the words and attributes that ops take, but for the words of requests. Their
// spelling is generated; checks are in Attributes.cpp.
#ifndef LOGITILE_ATTRS_TD
#define LOGITILE_ATTRS_TD
include "dialect/types/Request.td"

def Logitile_InputKind : Logitile_Enum<"InputKind", "the source of a value that a region reads",
                                       [Logitile_Case<"Logits", 0, "logits", "one projection: hidden times weight">,
                                        Logitile_Case<"Token", 1, "token", "one value per token">,
                                        Logitile_Case<"Vocab", 2, "vocab", "one value per vocabulary entry">,
                                        Logitile_Case<"Dense", 3, "dense", "one value per token and vocabulary entry">,
                                        Logitile_Case<"Scalar", 4, "scalar", "one value for the whole call">,
                                        Logitile_Case<"Cotangent", 5, "cotangent", "the gradient that reaches an output, one per token">,
                                        Logitile_Case<"SliceOffset", 6, "slice_offset",
                                                      "the first column of a slice of the vocabulary; has no name">,
                                        Logitile_Case<"TokenIndex", 7, "token_index", "which token of the call this is; has no name">,
]>;
def Logitile_InputKindAttr : Logitile_EnumAttr<Logitile_InputKind, "input_kind">;

def Logitile_Combiner : Logitile_Enum<"Combiner", "how a reduction joins the entries of the vocabulary", [
  Logitile_Case<"Sum", 0, "sum", "the sum">,
  Logitile_Case<"Mean", 1, "mean", "the sum divided by the vocabulary size">,
  Logitile_Case<"Max", 2, "max", "the largest entry, the first NaN if there is one">,
  Logitile_Case<"Min", 3, "min", "the smallest entry, the first NaN if there is one">,
  Logitile_Case<"ArgMax", 4, "argmax", "the index of what `max` gives">,
  Logitile_Case<"ArgMin", 5, "argmin", "the index of what `min` gives">,
  Logitile_Case<"LogSumExp", 6, "logsumexp", "log(sum(exp(x))), without overflow">,
  Logitile_Case<"Count", 7, "count", "the number of true entries">,
  Logitile_Case<"Any", 8, "any", "whether an entry is true">,
  Logitile_Case<"All", 9, "all", "whether all entries are true">,
  Logitile_Case<"Top", 10, "top", "the largest entries in order, NaN first: a value for each place of a list">,
  Logitile_Case<"ArgTop", 11, "argtop", "the indices of what `top` gives">,
]>;
def Logitile_CombinerAttr : Logitile_EnumAttr<Logitile_Combiner, "combiner">;

def Logitile_Phase : Logitile_Enum<"Phase", "when a part of a program runs",
                                   [Logitile_Case<"Prologue", 0, "prologue", "needs no logits: runs once for all tokens">,
                                    Logitile_Case<"Forward", 1, "forward", "needs inputs only">,
                                    Logitile_Case<"Backward", 2, "backward", "needs the cotangents as well">,
                                    Logitile_Case<"Fused", 3, "fused", "summed in the pass that makes the gradient">,
]>;
def Logitile_PhaseAttr : Logitile_EnumAttr<Logitile_Phase, "phase">;

def Logitile_Layout : Logitile_Enum<"Layout", "where the elements of a view are", [
  Logitile_Case<"Strided", 0, "strided", "any two strides, given at the launch">,
  Logitile_Case<"ColumnMajor", 1, "column_major", "entries of one column are neighbours">,
  Logitile_Case<"RowPanels", 2, "row_panels", "[row / lanes][column][lane]: packed, lanes along rows">,
  Logitile_Case<"ColumnPanels", 3, "column_panels", "[column / lanes][row][lane]: packed, lanes along columns">,
]>;
def Logitile_LayoutAttr : Logitile_EnumAttr<Logitile_Layout, "layout">;

def Logitile_Scope : Logitile_Enum<"Scope", "how long the contents of a buffer are needed, and how many tokens it covers", [
  Logitile_Case<"Input", 0, "input", "memory of the caller, read">,
  Logitile_Case<"Output", 1, "output", "memory of the caller, written">,
  Logitile_Case<"Saved", 2, "saved", "workspace kept from forward to backward, all tokens">,
  Logitile_Case<"Call", 3, "call", "workspace of one phase, all tokens">,
  Logitile_Case<"Chunk", 4, "chunk", "workspace of one chunk of tokens">,
]>;
def Logitile_ScopeAttr : Logitile_EnumAttr<Logitile_Scope, "scope">;

def Logitile_BufferRole
    : Logitile_Enum<"BufferRole", "what a buffer holds",
                    [Logitile_Case<"Hidden", 0, "hidden", "hidden states of a projection: the caller's">,
                     Logitile_Case<"Weight", 1, "weight", "the head of a projection: the caller's">,
                     Logitile_Case<"HiddenMap", 2, "hidden_map", "the row of each token in a projection's hidden states">,
                     Logitile_Case<"RoundedWeight", 3, "rounded_weight", "a rounded copy of the head, if kernels cannot round">,
                     Logitile_Case<"PackedRows", 4, "packed_rows", "hidden states with the lanes along tokens">,
                     Logitile_Case<"PackedColumns", 5, "packed_columns", "hidden states with the lanes along the hidden axis">,
                     Logitile_Case<"Stored", 6, "stored", "logits of a projection">,
                     Logitile_Case<"Centre", 7, "centre", "maxima that 16-bit logits are relative to, one per tile and token">,
                     Logitile_Case<"LogitGradient", 8, "logit_gradient", "the gradient of a projection's logits">,
                     Logitile_Case<"HiddenGradient", 9, "hidden_gradient", "the gradient of hidden states: the caller's">,
                     Logitile_Case<"WeightGradient", 10, "weight_gradient", "the gradient of the head: the caller's">,
                     Logitile_Case<"HiddenSum", 11, "hidden_sum", "the gradient of hidden states, summed in f32">,
                     Logitile_Case<"WeightSum", 12, "weight_sum", "the gradient of the head, summed in f32">,
                     Logitile_Case<"Input", 13, "input", "an input of the loss, or one entry of it">,
                     Logitile_Case<"InputMap", 14, "input_map", "the row of each token in a Dense input">,
                     Logitile_Case<"InputBlocks", 15, "input_blocks", "the gradient of a Vocab input, summed over each block of tokens">,
                     Logitile_Case<"InputSum", 16, "input_sum", "the gradient of a Vocab input, summed over all tokens">,
                     Logitile_Case<"InputGradient", 17, "input_gradient", "the gradient of a Dense input: the caller's">,
                     Logitile_Case<"Cotangent", 18, "cotangent", "the gradient that reaches an output">,
                     Logitile_Case<"RowState", 19, "row_state", "one slot of the row state of a sweep, for each vocabulary split">,
                     Logitile_Case<"Result", 20, "result", "a result of a finish">,
                     Logitile_Case<"RowList", 21, "row_list", "a list of a sweep, for each token and group of vocabulary splits">,
                     Logitile_Case<"RowPick", 22, "row_pick", "logits that a sweep picks at the indices of a list, for each token">,
                     Logitile_Case<"ScaledHidden", 23, "scaled_hidden", "hidden states times the factor of their token">,
                     Logitile_Case<"SliceOffset", 24, "slice_offset", "the first column of a slice of the vocabulary">,
                     Logitile_Case<"TokenMap", 25, "token_map", "the tokens that are not ignored">,
                     Logitile_Case<"TokenSlots", 26, "token_slots", "the inverse of the token map, on GPUs">,
                     Logitile_Case<"WrongTokens", 27, "wrong_tokens", "tokens with an index outside the vocabulary, on GPUs">,
                     Logitile_Case<"CallFacts", 28, "call_facts", "the number of tokens that count, and the divisor of the loss, on GPUs">,
]>;
def Logitile_BufferRoleAttr : Logitile_EnumAttr<Logitile_BufferRole, "buffer_role">;

def Logitile_ScalarRole
    : Logitile_Enum<
          "ScalarRole", "a scalar that a launch gives to a kernel",
          [Logitile_Case<"Tokens", 0, "tokens", "the number of tokens: of the chunk, or of the call outside loops over tokens">,
           Logitile_Case<"VocabSplitFirst", 1, "vocab_split_first", "the first vocabulary split of the launch">,
           Logitile_Case<"VocabSplitEnd", 2, "vocab_split_end", "the end of the vocabulary splits (exclusive)">,
           Logitile_Case<"AccumulateTokens", 3, "accumulate_tokens", "whether this is not the first chunk of tokens">,
           Logitile_Case<"AccumulateVocabSplits", 4, "accumulate_vocab_splits",
                         "whether this is not the first iteration over vocabulary splits">,
           Logitile_Case<"Accumulate", 5, "accumulate", "in templates: whether the kernel adds to memory; the launch decides that">,
]>;
def Logitile_ScalarRoleAttr : Logitile_EnumAttr<Logitile_ScalarRole, "scalar_role">;

def Logitile_Axis : Logitile_Enum<"Axis", "what a loop of the schedule runs over",
                                  [Logitile_Case<"Tokens", 0, "tokens", "chunks of tokens">,
                                   Logitile_Case<"VocabSplits", 1, "vocab_splits", "vocabulary splits">,
]>;
def Logitile_AxisAttr : Logitile_EnumAttr<Logitile_Axis, "axis">;

def Logitile_Accumulate
    : Logitile_Enum<"Accumulate", "when a kernel adds to the contents of memory, instead of starting from zero",
                    [Logitile_Case<"Never", 0, "never", "it starts from zero">,
                     Logitile_Case<"Tokens", 1, "tokens", "after the first chunk of tokens">,
                     Logitile_Case<"VocabSplits", 2, "vocab_splits", "after the first iteration over vocabulary splits">,
                     Logitile_Case<"Always", 3, "always", "it always adds">,
]>;
def Logitile_AccumulateAttr : Logitile_EnumAttr<Logitile_Accumulate, "accumulate">;

def Logitile_Purpose
    : Logitile_Enum<
          "Purpose", "what choose-schedule launches a template for",
          [Logitile_Case<"Pack", 0, "pack", "hidden states of the tokens that count, in the layout that products read">,
           Logitile_Case<"Round", 1, "round", "a copy of a matrix with a row for each vocabulary entry, rounded">,
           Logitile_Case<"Sweep", 2, "sweep", "one pass over the vocabulary">,
           Logitile_Case<"Finish", 3, "finish", "the results of a finish, from the row states of all vocabulary splits">,
           Logitile_Case<"Gradient", 4, "gradient", "the gradients of logits and of other values per element">,
           Logitile_Case<"HiddenGradient", 5, "hidden_gradient", "the gradient of hidden states, or a part of it">,
           Logitile_Case<"HiddenEnd", 6, "hidden_end", "the last step of a gradient of hidden states that was computed in parts">,
           Logitile_Case<"WeightGradient", 7, "weight_gradient", "the gradient of the head">,
           Logitile_Case<"VocabGradient", 8, "vocab_gradient", "the gradient of a Vocab input, from its sums over blocks of tokens">,
           Logitile_Case<"ListFinish", 9, "list_finish", "the results of a finish of a list, from the lists of all vocabulary splits">,
           Logitile_Case<"PlaceFinish", 10, "place_finish", "the results of a finish that runs at each place of the lists that it reads">,
           Logitile_Case<"Reference", 11, "reference", "the exponent reference of stored exponentials, from the logits of the first columns">,
           Logitile_Case<"Repair", 12, "repair", "recomputes the stored gradients of tokens whose reference was too low">,
           Logitile_Case<"Scale", 13, "scale", "hidden states of the tokens that count, each times a factor of its token">,
           Logitile_Case<"Project", 14, "project", "the logits of one projection, for sweeps that read them">,
]>;
def Logitile_PurposeAttr : Logitile_EnumAttr<Logitile_Purpose, "purpose">;

def Logitile_Algorithm
    : Logitile_Enum<
          "Algorithm", "how a product of matrices is computed",
          [Logitile_Case<"Panels", 0, "panels", "blocks of both operands in packed panels, sums in vector registers">,
           Logitile_Case<"DotProducts", 1, "dot_products", "of few tokens: the shared axis in the lanes of vectors, both operands in rows">,
           Logitile_Case<"RankUpdates", 2, "rank_updates", "of few tokens: a few rows of the right operand at a time, read in place">,
           Logitile_Case<"MmaSync", 3, "mma_sync", "fragments of warps on tensor cores, PTX's mma.sync">,
           Logitile_Case<"Loops", 4, "loops", "one multiplication at a time; for targets without the other algorithms">,
           Logitile_Case<"Wgmma", 5, "wgmma", "tiles of warpgroups on tensor cores, operands in shared memory, PTX's wgmma">,
           Logitile_Case<"AmxTiles", 6, "amx_tiles", "panels of bf16 with AMX: blocks of both operands and sums in its tile registers">,
           Logitile_Case<"WgmmaPairs", 7, "wgmma_pairs", "as wgmma, by pairs of thread blocks that share the right operand">,
]>;
def Logitile_AlgorithmAttr : Logitile_EnumAttr<Logitile_Algorithm, "algorithm">;

def Logitile_TermAction : Logitile_Enum<"TermAction", "what an op does at the sparse terms of a gradient tile", [
  Logitile_Case<"Add", 0, "add", "the coefficient is added to the tile">,
  Logitile_Case<"Extract", 1, "extract", "the tile's entry moves into the coefficient and becomes 0">,
  Logitile_Case<"Sum", 2, "sum", "a tile of one row: the coefficients of all tokens are added at their columns">,
  Logitile_Case<"Clear", 3, "clear", "the tile's entry becomes 0">,
]>;
def Logitile_TermActionAttr : Logitile_EnumAttr<Logitile_TermAction, "term_action">;

/// A struct of requests; its text is for each to say.
class Logitile_StructAttr<Logitile_Struct struct, string mnemonic> : Logitile_Attr<struct.python, mnemonic> {
  let summary = struct.meaning;
  let parameters = Logitile_Parameters<struct.members>.all;
  let genVerifyDecl = 1;
}

def Logitile_ProjectionAttr : Logitile_StructAttr<Logitile_Projection, "projection"> {
  let description = [{
    `element` is the type of both operands. `memory` has their types in memory, hidden first, where one of them is
    another: such operands are rounded while they are packed, as under automatic casting, and their gradients have
    the type in memory.

    ```mlir
    #logitile.projection<"z", hidden = 1024, element = bf16>
    #logitile.projection<"z", hidden = 1024, element = bf16, memory = [bf16, f32]>
    ```
  }];
  let assemblyFormat = [{
    `<` $name `,` `hidden` `=` $hidden `,` `element` `=` $element `` custom<Memory>($hiddenMemory, $weightMemory, ref($element)) `>`
  }];
}

def Logitile_ResultAttr : Logitile_Attr<"Result", "result"> {
  let summary = "a result of a finish, by its number";
  let description = [{
    ```mlir
    #logitile.result<@finish1[0]>
    ```
  }];
  let parameters = (ins "mlir::FlatSymbolRefAttr":$finish, "int64_t":$number);
  let assemblyFormat = "`<` $finish `[` $number `]` `>`";
  let builders = [AttrBuilderWithInferredContext<(ins "mlir::FlatSymbolRefAttr":$finish, "int64_t":$number), [{
    return $_get(finish.getContext(), finish, number);
  }]>];
}

def Logitile_ReferenceAttr : Logitile_Attr<"Reference", "reference"> {
  let summary = "what the stored exponentials of a token are relative to";
  let description = [{
    `first` is known before the sweep that stores them: the largest exponent among the first columns. `last` is known after it: the same
    number, or where exponentials relative to that overflow, the largest exponent of all. `raised` is 1 for such tokens and 0 for all
    others. What is stored again for them is relative to `last`, in the place of `first`.

    ```mlir
    #logitile.reference<first = <@reference[0]>, last = <@finish1[3]>, raised = <@finish1[4]>>
    ```
  }];
  let parameters = (ins "ResultAttr":$first, "ResultAttr":$last, "ResultAttr":$raised);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Logitile_PickAttr : Logitile_Attr<"Pick", "pick"> {
  let summary = "the logits of a projection at the indices of a list";
  let description = [{
    `index` is the name of a token input with so many `places`, whose entries are indices, or a result of a finish that gives so many
    indices for each token.

    ```mlir
    #logitile.pick<"z" at "candidates" places 64>
    #logitile.pick<"z" at #logitile.result<@places0[0]> places 50>
    ```
  }];
  let parameters = (ins StringRefParameter<"name of the projection">:$logits, "mlir::Attribute":$index, "int64_t":$places);
  let assemblyFormat = "`<` $logits `at` $index `places` $places `>`";
}

def Logitile_OutputAttr : Logitile_Attr<"Output", "output"> {
  let summary = "one output of a loss: a per-token value";
  let description = [{
    `type` is what the caller sees: f32, i32 or i1. Finishes give an i1 as i32, 0 or 1. `state` marks a part of the row state
    of a slice of the vocabulary, which is no output of the loss.

    ```mlir
    #logitile.output<"loss" : f32 is <@finish1[0]>>
    #logitile.output<"forward0.max0" : f32 is <@state[0]>, state = true>
    ```
  }];
  let parameters = (ins StringRefParameter<"name of the output">:$name, "mlir::Type":$type, "ResultAttr":$result,
                        DefaultValuedParameter<"bool", "false">:$state);
  let assemblyFormat = "`<` $name `:` $type `is` $result (`,` `state` `=` $state^)? `>`";
  let genVerifyDecl = 1;
}

def Logitile_SliceAttr : Logitile_StructAttr<Logitile_Slice, "slice"> {
  let description = [{
    `columns` is how many entries of the vocabulary the slice has; where it begins is an input of the call, of kind
    `slice_offset`. `sweep` numbers the sweep of the parts `sweep` and `merge`, forward ones first, from 0.

    ```mlir
    #logitile.slice<columns = 4000, part = sweep, sweep = 1>
    ```
  }];
  let assemblyFormat = "`<` `columns` `=` $columns `,` `part` `=` $part `,` `sweep` `=` $sweep `>`";
}

def Logitile_GradientAttr : Logitile_StructAttr<Logitile_Gradient, "gradient"> {
  let description = [{
    `of` names a projection, or another input where the part is `input`. Without a type, the gradient has that of its input.

    ```mlir
    #logitile.gradient<hidden of "z">
    #logitile.gradient<input of "bias" : bf16>
    ```
  }];
  let assemblyFormat = "`<` $part `of` $owner (`:` $element^)? `>`";
}

def Logitile_RequestAttr : Logitile_Attr<"Request", "request"> {
  let summary = "the input of one compilation";
  let description = [{
    Attached to the module as `logitile.request`, so that the text of any stage compiles again by itself.

}] # !foldl("", Logitile_RequestParameters, text, member, text # "    * `" # member.name # "`: " # member.meaning # "\n") # [{
    ```mlir
    module attributes {logitile.request = #logitile.request<
        projections = [<"z", hidden = 1024, element = f32>], dense = {}, gradients = [<hidden of "z">], mode = early,
        tokens = 4096, workspace = 268435456, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 2,
        tiles = {TM = 64, TN = 64}>} {}
    ```
  }];
  let parameters = Logitile_Parameters<Logitile_RequestParameters>.all;
  let extraClassDeclaration = [{
    /// The gradient of that part of 'owner'; null where it is not asked for.
    GradientAttr findGradient(OperandPart part, llvm::StringRef owner) const;
    /// The same request for another target.
    RequestAttr withTarget(llvm::StringRef target) const;
  }];
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Logitile_DimAttr : Logitile_Attr<"SymbolicDim", "dim"> {
  let summary = "a dimension of a template that is not bound yet";
  let description = "Spelled as a bare word in capitals inside types: `!logitile.tile<TM x TN x acc>`.";
  let parameters = (ins StringRefParameter<>:$name);
  let assemblyFormat = "`<` $name `>`";
  let genVerifyDecl = 1;
}

// What it may hold is checked by the ops that have one, which name it as their syntax does.
def Logitile_Extent : Attr<CPred<"true">, "an integer or a symbol"> {
  let storageType = "::mlir::Attribute";
  let returnType = "::mlir::Attribute";
  let convertFromStorage = "$_self";
}
#endif
