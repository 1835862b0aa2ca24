// On GPUs, tiles of logits that are read have 32 rows, so that many blocks share a multiprocessor.
// Those that are made have the rows of the table. Operands are of f16: the first sweep would store
// gradients of bf16.
// DEFINE: %{schedule} = sed -e 's/$ELEMENT/f16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/cpu:avx2/cuda:sm_80/' %S/Inputs/square.mlir
// RUN: %{schedule} | sed -e 's/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/' | %schedule | FileCheck %s --check-prefix=KEPT
// KEPT: logitile.launch "squares" from @sweep<{{.*}}TM = 128,
// KEPT: logitile.launch "gradient" from @gradient<{{.*}}TM = 32,

// RUN: %{schedule} | sed -e 's/$PLAN/mode = split, tokens = 4096, workspace = 300000000, chunks = 0, accumulate = false/' | %schedule | FileCheck %s --check-prefix=AGAIN
// AGAIN: logitile.launch "gradient" from @gradient<{{.*}}TM = 128,

// Nor do they have more than 128 columns, which 128 threads have one each of. Centres are those of
// the tiles that were made.
// RUN: %{schedule} | sed -e 's/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/sm_80/sm_90a/' | %schedule | FileCheck %s --check-prefix=WIDE
// WIDE: logitile.launch "squares" from @sweep<{{.*}}TN = 192,
// WIDE: logitile.launch "gradient" from @gradient<CENTRE = 192, {{.*}}TM = 32, TN = 96,

// A gradient of the vocabulary needs sums over the tokens of each tile: more rows need less memory
// for them.
// RUN: %{schedule} | sed -e 's/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/^      logitile.adjoint.*/&\n      logitile.adjoint vocab "bias" dense %d/' | %schedule | FileCheck %s --check-prefix=VOCAB
// VOCAB: logitile.launch "gradient" from @gradient<{{.*}}TM = 128,
