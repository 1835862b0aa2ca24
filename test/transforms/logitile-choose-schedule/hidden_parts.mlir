// A GPU makes the gradient of hidden states in parts of the vocabulary where its tiles, 4 here for
// 108 multiprocessors, are too few. The number of parts is the same for up to a power of two of
// tiles of tokens, and however many chunks are asked for.
// RUN: sed -e 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 100, workspace = 1000000000, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80:a100", threads = 1/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=FEW
// FEW: logitile.schedule tokens [0, 129)
// FEW: logitile.buffer @sum_z_hidden chunk hidden_sum of "z" : !logitile.view<?x[[ROW:[0-9]+]]xf32>
// FEW: logitile.launch "z_hidden" from @contract_hidden_parts<D = 512, ENTRIES = {{[0-9]+}}, PARTS = [[PARTS:[0-9]+]], ROW = [[ROW]],
// FEW: logitile.launch "join_z_hidden" from @join_hidden<D = 512, PARTS = [[PARTS]], ROW = [[ROW]],

// RUN: sed -e 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 100, workspace = 0, chunks = 3, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80:a100", threads = 1/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: logitile.launch "join_z_hidden" from @join_hidden<D = 512, PARTS

// Many tokens have tiles enough.
// RUN: sed -e 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 100000, workspace = 100000000000, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80:a100", threads = 1/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=MANY
// MANY: logitile.launch "z_hidden" from @contract_hidden<
// MANY-NOT: join_hidden
