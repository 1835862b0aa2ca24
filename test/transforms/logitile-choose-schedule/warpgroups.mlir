// On sm_90a, warpgroups multiply operands of 16 bits and planes of f32, where tiles have rows and
// sums for them.
// DEFINE: %{early} = sed -e 's/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cuda:sm_90a/'
// RUN: %{early} -e 's/$ELEMENT/bf16/' %S/Inputs/square.mlir | %schedule | FileCheck %s
// RUN: %{early} -e 's/$ELEMENT/f16/' %S/Inputs/square.mlir | %schedule | FileCheck %s
// Tiles of the weight's gradient have fewer rows than tiles of logits have columns. Vocabulary
// splits are whole tiles of both.
// CHECK: logitile.schedule {{.*}} vocab_split 768 
// CHECK: logitile.launch "squares" from @sweep<GROUP = 1, TK = 64, TM = 128, TN = 192, {{.*}} using wgmma
// CHECK: logitile.launch "z_hidden" {{.*}} using wgmma
// CHECK: logitile.launch "z_weight" {{.*}}TN = 128, {{.*}} using wgmma

// Operands of f32 have half as many steps in a block, and tiles with fewer columns.
// RUN: %{early} -e 's/$ELEMENT/f32/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=FLOATS
// FLOATS: logitile.launch "squares" from @sweep<GROUP = 1, TK = 32, TM = 128, TN = 128, {{.*}} using wgmma
// FLOATS: logitile.launch "z_hidden" {{.*}}TK = 32,{{.*}} using wgmma
// FLOATS: logitile.launch "z_weight" {{.*}}TK = 32,{{.*}} using wgmma

// Not with tiles that they cannot cut, nor on sm_90. Blocks of f32 have at most 32 steps, which
// threads load ahead into registers.
// RUN: %{early} -e 's/$ELEMENT/f32/; s/threads = 4/threads = 4, tiles = {TKproject = 64}/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=WARPS
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/threads = 4/threads = 4, tiles = {TM = 32}/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=WARPS
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/threads = 4/threads = 4, tiles = {TN = 288}/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=WARPS
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/threads = 4/threads = 4, tiles = {TKproject = 48}/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=WARPS
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/sm_90a/sm_90/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=WARPS
// WARPS: logitile.launch "squares" from @sweep{{.*}} using mma_sync

// Where a row of the table or a request has clusters, pairs of blocks share operands. Products of
// warps do not, and who names clusters for them alone is told.
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/threads = 4/threads = 4, tiles = {cluster = 2}/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=PAIRS
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/threads = 4/threads = 4, tiles = {cluster = 2, TM = 32}/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=SOME
// RUN: %{early} -e 's/$ELEMENT/f32/; s/threads = 4/threads = 4, tiles = {cluster = 2}/' %S/Inputs/square.mlir | not %schedule 2>&1 | FileCheck %s --check-prefix=NONE
// PAIRS: logitile.launch "squares" from @sweep{{.*}} using wgmma_pairs
// PAIRS: logitile.launch "z_hidden" {{.*}} using wgmma_pairs
// PAIRS: logitile.launch "z_weight" {{.*}} using wgmma_pairs
// SOME: logitile.launch "squares" from @sweep{{.*}} using mma_sync
// SOME: logitile.launch "z_weight" {{.*}} using wgmma_pairs
// NONE: has no product for clusters of 2 blocks: they share operands of 16 bits, and have tiles of a multiple of 64 rows; take cluster=1

// Tiles of gradients have the columns with which the hidden axis takes the least time: 4096 is 16 x
// 256, 2880 is 15 x 192. Those of f32 have at most 128.
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/hidden = 512/hidden = 4096/' %S/Inputs/square.mlir | %schedule | FileCheck %s -DCOLUMNS=256 --check-prefix=TILES
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/hidden = 512/hidden = 2880/' %S/Inputs/square.mlir | %schedule | FileCheck %s -DCOLUMNS=192 --check-prefix=TILES
// RUN: %{early} -e 's/$ELEMENT/bf16/; s/hidden = 512/hidden = 100/' %S/Inputs/square.mlir | %schedule | FileCheck %s -DCOLUMNS=128 --check-prefix=TILES
// RUN: %{early} -e 's/$ELEMENT/f32/; s/hidden = 512/hidden = 4096/' %S/Inputs/square.mlir | %schedule | FileCheck %s -DCOLUMNS=128 --check-prefix=TILES
// TILES: logitile.launch "z_hidden" {{.*}}TD = [[COLUMNS]],
// TILES: logitile.launch "z_weight" {{.*}}TD = [[COLUMNS]],
