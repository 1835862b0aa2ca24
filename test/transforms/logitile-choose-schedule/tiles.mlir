// Sizes of a request take the place of those of the table; the others stay.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/threads = 4/threads = 4, tiles = {TM = 128, TKweight = 64}/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s
// CHECK: logitile.launch "squares" from @sweep<GROUP = 1, TK = 256, TM = 128, TN = 120,
// CHECK: logitile.launch "z_weight" from @contract_weight<D = 512, TD = 512, TK = 64, TN = 120,

// On a GPU a row of the table serves kernels with as many tiles at a time as it says: the default
// is the first that does.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS//; s/$PLAN/mode = forward, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cuda:sm_80/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=ONE
// ONE: logitile.launch "squares" from @sweep<GROUP = 1, TK = 32, TM = 128, TN = 128,
