//===- ScheduleOps.td - the schedule of a plan ---------------------------------------------------------------===//
// What is here: buffers, and the launches that use them, in order. The template that a launch names
// says what it computes.
#ifndef LOGITILE_SCHEDULE_OPS_TD
#define LOGITILE_SCHEDULE_OPS_TD
include "dialect/operations/PlanOps.td"

let opDocGroup = Logitile_PlanStage in {

def Logitile_ScheduleOp : Logitile_Op<"schedule", [SymbolTable, SingleBlock, NoTerminator, HasParent<"ProgramOp">]> {
  let summary = "buffers and launches that run a program";
  let description = [{
    Covers calls with a number of tokens in `[first, end)`. Each `run` is one phase: `prologue` for
    launches that need no logits, `forward`, and `backward` if gradients are computed in a separate
    call. `vocab_split` is the number of vocabulary entries of a vocabulary split, `stored` the
    number of entries per token whose logits are stored.

    ```mlir
    logitile.schedule tokens [0, 4096) vocab_split 2048 stored 0 {
      logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
      logitile.run forward {
      }
    }
    ```
  }];
  let arguments = (ins Logitile_Int:$first, Logitile_Int:$end, Logitile_Int:$vocab_split, Logitile_Int:$stored);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `tokens` ` ` `[` $first `,` $end `)` `vocab_split` $vocab_split `stored` $stored attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The buffer with this role and owner, or null.
    BufferOp findBuffer(BufferRole role, llvm::StringRef owner = {}, std::optional<int64_t> number = std::nullopt);
    /// The buffer of this name, or null.
    BufferOp lookupBuffer(mlir::StringAttr name);
  }];
}

def Logitile_BufferOp : Logitile_Op<"buffer", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>, HasParent<"ScheduleOp">]> {
  let summary = "memory that launches use";
  let description = [{
    Passes and the runtime find a buffer by its role and its owner. The owner follows `of`: a
    projection, an input or an output by its name, a sweep or a finish as a symbol. `[...]` is a
    number: of the entry of a token input, of the slot of a row state, of a list or a pick of a
    sweep, or of a result. Buffers of a call have no owner. The symbol serves references and people;
    no code depends on its spelling.

    `?` stands for tokens (of the call, or of a chunk in scope `chunk`), with `per` tokens for each
    row. `window` is the number of columns of a buffer that holds only the columns of the current
    vocabulary splits. `alias` puts a buffer into the memory of an earlier buffer, row by row.

    ```mlir
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x32000xf32, column_major>
    logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x32000xbf16, column_major>
    logitile.buffer @blocks_bias chunk input_blocks of "bias" per 512 : !logitile.view<?x32000xf32>
    logitile.buffer @second_target call input of "targets"[1] : !logitile.view<?xi32>
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Logitile_ScopeAttr:$scope, Logitile_BufferRoleAttr:$role,
                       OptionalAttr<AnyAttrOf<[StrAttr, FlatSymbolRefAttr]>>:$owner, OptionalAttr<Logitile_Int>:$number,
                       OptionalAttr<FlatSymbolRefAttr>:$alias, OptionalAttr<Logitile_Int>:$window,
                       DefaultValuedAttr<Logitile_Int, "1">:$per, TypeAttrOf<Logitile_ViewType>:$type);
  let assemblyFormat = [{
    $sym_name `` $scope `` $role (`of` custom<Owner>($owner, $number)^)? (`alias` $alias^)? (`window` $window^)? (`per` $per^)?
    attr-dict `:` $type
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The name of the owner; empty without one.
    llvm::StringRef getOwnerName();
  }];
}

def Logitile_RunOp : Logitile_Op<"run", [HasParent<"ScheduleOp">, SingleBlock, NoTerminator]> {
  let summary = "the launches of one phase, in order";
  let description = [{
    A schedule has at most one run of each phase; `fused` sums run with the gradient.

    ```mlir
    logitile.run forward {
      logitile.loop tokens 512 {
      }
    }
    ```
  }];
  let arguments = (ins Logitile_PhaseAttr:$phase);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`` $phase attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Logitile_LoopOp : Logitile_Op<"loop", [ParentOneOf<["RunOp", "LoopOp"]>, SingleBlock, NoTerminator]> {
  let summary = "repeats launches for chunks of tokens or for vocabulary splits";
  let description = [{
    Over `tokens`, a positive `step` is the number of tokens of a chunk and a negative one the
    number of chunks; over `vocab_splits`, it is the number of vocabulary splits at a time, from
    vocabulary split `first` to `end`.

    ```mlir
    logitile.loop tokens 512 {
    }
    logitile.loop vocab_splits 2 from 6 to 16 {
    }
    ```
  }];
  let arguments = (ins Logitile_AxisAttr:$axis, Logitile_Int:$step, OptionalAttr<Logitile_Int>:$first, OptionalAttr<Logitile_Int>:$end);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`` $axis $step (`from` $first^ `to` $end)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Logitile_LaunchOp : Logitile_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, ParentOneOf<["RunOp", "LoopOp"]>]> {
  let summary = "one kernel: a template with everything bound";
  let description = [{
    `bindings` give the template's parameters a value; `V`, `SPLIT`, `SPLITS` and `LISTS` come from
    the schedule. `using` is the algorithm of the template's products. `sweep` and `finish` name the
    parts whose regions fill the holes. `input` is the input whose gradient a contraction computes.
    With `store` the kernel stores the logits that it computes. A later launch completes a `part` of
    a gradient. `views` gives a buffer to each plain view argument of the template. `vocab_splits`
    limits the kernel to a range of vocabulary splits; without it, the range is that of the loop, or
    all splits. `accumulate` says when the kernel adds to the existing contents of memory: `never`,
    `always`, or after the first iteration of a loop.

    ```mlir
    logitile.launch "z_hidden_gradient" from @contract_hidden<TM = 512, TD = 256, TK = 224, D = 1024, acc = f32> using panels
        input "z" views {out = @gradient_z_hidden} accumulate vocab_splits
    ```
  }];
  let arguments = (ins StrAttr:$kernel, FlatSymbolRefAttr:$source, DictionaryAttr:$bindings,
      OptionalAttr<Logitile_AlgorithmAttr>:$algorithm, OptionalAttr<FlatSymbolRefAttr>:$sweep, OptionalAttr<FlatSymbolRefAttr>:$finish,
      OptionalAttr<StrAttr>:$input, UnitAttr:$store, UnitAttr:$part, OptionalAttr<DictionaryAttr>:$views,
      OptionalAttr<DenseI64ArrayAttr>:$vocab_splits, DefaultValuedAttr<Logitile_AccumulateAttr, "Accumulate::Never">:$accumulate);
  let assemblyFormat = [{
    $kernel `from` $source `` custom<Bindings>($bindings) (`using` `` $algorithm^)? (`sweep` $sweep^)? (`finish` $finish^)?
    (`input` $input^)? (`store` $store^)? (`part` $part^)? (`views` $views^)? (`vocab_splits` $vocab_splits^)?
    (`accumulate` `` $accumulate^)? attr-dict
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "llvm::StringRef":$kernel, "llvm::StringRef":$source, "mlir::DictionaryAttr":$bindings), [{
      $_state.getOrAddProperties<Properties>().kernel = $_builder.getStringAttr(kernel);
      $_state.getOrAddProperties<Properties>().source = mlir::FlatSymbolRefAttr::get($_builder.getContext(), source);
      $_state.getOrAddProperties<Properties>().bindings = bindings;
    }]>,
  ];
  let extraClassDeclaration = [{
    mlir::DictionaryAttr viewsOrEmpty() { return getViews().value_or(mlir::DictionaryAttr::get(getContext())); }
  }];
}
} // opDocGroup
#endif
