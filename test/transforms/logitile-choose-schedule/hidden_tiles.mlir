// Tiles of the gradient of hidden states are those of the table where that gives the four threads
// as many tasks each: 8 x 1 for 4096 tokens and 512 hidden entries.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=MANY
// MANY: logitile.launch "z_hidden" from @contract_hidden<D = 512, TD = 512, TK = 240, TM = 512,

// For 300 tokens one tile would leave three threads idle: both axes are cut in two, into about the
// same sizes.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 300, workspace = 1000000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=FEW
// FEW: logitile.launch "z_hidden" from @contract_hidden<D = 512, TD = 256, TK = 240, TM = 160,

// Blocks of a shared axis have a number of bytes: pairs of bf16 go twice as far as f32.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=DOTS
// DOTS: logitile.launch "squares" from @sweep<GROUP = 1, TK = 1024,
// DOTS: logitile.launch "z_hidden" from @contract_hidden<D = 512, TD = 512, TK = 448,
// DOTS: logitile.launch "z_weight" from @contract_weight<D = 512, TD = 1024, TK = 1024,

// About 1300 tokens fit this budget at a time. That takes four chunks, which are made the same
// size.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 170000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=EVEN
// EVEN: logitile.loop tokens 1024 {

// Few tokens leave the time to memory. Rows of the head are multiplied where they lie, eight at a
// time; tiles of its gradient get longer rows, and fewer of them.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 2, workspace = 1000000000, chunks = 0, accumulate = false/; s/hidden = 512/hidden = 2048/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=ROWS
// ROWS: logitile.launch "z_hidden" from @contract_hidden<D = 2048, TD = 512, TK = 8,
// ROWS: logitile.launch "z_weight" from @contract_weight<D = 2048, TD = 2048, TK = 256, TN = 30,

// Tile registers multiply a whole panel of bf16 faster than vectors multiply nine tokens. Eight
// tokens, and nine of f32, are few.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 9, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:amx_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=TILES
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 8, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:amx_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=UPDATES
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 9, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:amx_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=UPDATES
// TILES: logitile.schedule tokens [9,
// TILES: logitile.launch "squares" {{.*}} using amx_tiles
// TILES: logitile.launch "z_hidden" {{.*}} using amx_tiles
// UPDATES: logitile.schedule tokens [0,
// UPDATES: logitile.launch "squares" {{.*}} using dot_products
// UPDATES: logitile.launch "z_hidden" {{.*}} using rank_updates
