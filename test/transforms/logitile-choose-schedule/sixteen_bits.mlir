// 16-bit operands. Without dot products of bf16 they are widened when they are packed.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s
// CHECK-DAG: logitile.buffer @packed_z_rows chunk packed_rows of "z" : !logitile.view<?x512xf32, row_panels>
// CHECK-DAG: logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x30000xf32, column_major>
// CHECK-DAG: logitile.buffer @gradient_z_weight output weight_gradient of "z" : !logitile.view<30000x512xbf16>
// CHECK: logitile.launch "pack_z_rows" from @pack<D = 512, TM = 16, in = bf16, op = f32>
// CHECK: logitile.launch "z_weight" from @contract_weight<{{.*}} g = f32, op = f32, out = bf16> using panels

// Chunks would round their sum each time: it is kept in f32 and rounded once, after the last one.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 0, chunks = 3, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: logitile.buffer @sum_z_weight call weight_sum of "z" : !logitile.view<30000x512xf32>
// CHUNKS: logitile.loop tokens -3 {
// CHUNKS: logitile.launch "z_weight" {{.*}} out = f32> using panels input "z" views {{{.*}}out = @sum_z_weight, unscaled = @packed_z_columns} accumulate tokens
// CHUNKS-NEXT: }
// CHUNKS-NEXT: logitile.launch "round_z_weight" from @round<{{.*}}> views {out = @gradient_z_weight, source = @sum_z_weight}
// CHUNKS-NEXT: }

// With dot products packed operands and the gradient are bf16 as well; the gradient cannot take the
// place of f32 logits.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=DOTS
// DOTS-DAG: logitile.buffer @packed_z_rows chunk packed_rows of "z" : !logitile.view<?x512xbf16, row_panels>
// DOTS-DAG: logitile.buffer @grad_z chunk logit_gradient of "z" {{.*}}: !logitile.view<?x30000xbf16, column_major>
// DOTS: logitile.launch "pack_z_rows" from @pack<D = 512, TM = 32, in = bf16, op = bf16>

// Where there are tile registers, all products of bf16 run on them.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:amx_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=TILES
// TILES-DAG: logitile.buffer @packed_z_rows chunk packed_rows of "z" : !logitile.view<?x512xbf16, row_panels>
// TILES: logitile.launch "squares" {{.*}} using amx_tiles
// TILES: logitile.launch "z_hidden" {{.*}} using amx_tiles
// TILES: logitile.launch "z_weight" {{.*}} using amx_tiles

// Operands of f32 that are multiplied in bf16: whoever reads them rounds them, packed ones and
// gradients of logits are as above, and gradients of operands have the type in memory.
// RUN: sed 's/$ELEMENT/bf16, memory = [bf16, f32]/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 0, chunks = 3, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=ROUNDED
// ROUNDED-DAG: logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x512xbf16>
// ROUNDED-DAG: logitile.buffer @z_weight input weight of "z" : !logitile.view<30000x512xf32 to bf16>
// ROUNDED-DAG: logitile.buffer @packed_z_rows chunk packed_rows of "z" : !logitile.view<?x512xbf16, row_panels>
// ROUNDED-DAG: logitile.buffer @grad_z chunk logit_gradient of "z" {{.*}}: !logitile.view<?x30000xbf16, column_major>
// ROUNDED-DAG: logitile.buffer @gradient_z_hidden output hidden_gradient of "z" : !logitile.view<?x512xbf16>
// ROUNDED-DAG: logitile.buffer @gradient_z_weight output weight_gradient of "z" : !logitile.view<30000x512xf32>
// ROUNDED: logitile.launch "z_hidden" from @contract_hidden<{{.*}} g = bf16, in = !logitile.rounded<f32 to bf16>, out = bf16> using panels
// ROUNDED-NOT: from @round<
// ROUNDED-NOT: round_z_operand

// GPUs round hidden states while they gather them, and the head once per call; everything else
// reads the copy.
// RUN: sed 's/$ELEMENT/bf16, memory = [f32, f32]/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 0, chunks = 3, accumulate = false/; s/cpu:avx2/cuda:sm_80/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=COPIED
// COPIED-DAG: logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x512xf32 to bf16>
// COPIED-DAG: logitile.buffer @z_weight input weight of "z" : !logitile.view<30000x512xf32 to bf16>
// COPIED-DAG: logitile.buffer @rounded_z_weight call rounded_weight of "z" : !logitile.view<30000x512xbf16>
// COPIED-DAG: logitile.buffer @packed_z_rows chunk packed_rows of "z" : !logitile.view<?x512xbf16>
// COPIED-DAG: logitile.buffer @gradient_z_weight output weight_gradient of "z" : !logitile.view<30000x512xf32>
// COPIED: logitile.run prologue {
// COPIED-NEXT: logitile.launch "round_z_operand" from @round<{{.*}} in = !logitile.rounded<f32 to bf16>, out = bf16, tile = bf16> views {out = @rounded_z_weight, source = @z_weight}
// COPIED: logitile.launch "pack_z_rows" from @pack<{{.*}} in = !logitile.rounded<f32 to bf16>, op = bf16>
// COPIED: logitile.launch "z_hidden" from @contract_hidden_parts<{{.*}} in = bf16> {{.*}} views {{{.*}} weight = @rounded_z_weight}

// The backward phase of its own reads the same copy.
// RUN: sed 's/$ELEMENT/bf16, memory = [f32, f32]/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = split, tokens = 4096, workspace = 0, chunks = 3, accumulate = false/; s/cpu:avx2/cuda:sm_80/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=SPLIT
// SPLIT: logitile.buffer @rounded_z_weight saved rounded_weight of "z" : !logitile.view<30000x512xbf16>
// SPLIT-COUNT-1: from @round<
// SPLIT: logitile.run backward
// SPLIT-NOT: from @round<

// Where one exponential is the gradient, logits are kept in 16 bits, with their centres, and the
// gradient takes their place.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/; s/logitile.gradient/logitile.gradient exponential/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=HALVES
// HALVES: logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x30000xf16, column_major>
// HALVES-NEXT: logitile.buffer @centre_z chunk centre of "z" : !logitile.view<268x?xf32>
// HALVES-NEXT: logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x30000xbf16, column_major>

// From forward to backward too.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/; s/logitile.gradient/logitile.gradient exponential/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=SAVED
// SAVED: logitile.buffer @stored_z saved stored of "z" : !logitile.view<?x30000xf16, column_major>
// SAVED-NEXT: logitile.buffer @centre_z saved centre of "z" : !logitile.view<268x?xf32>

// Not where another number of chunks makes the logits again, whose bits would differ; nor where
// products take f32.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 4096, workspace = 0, chunks = 1, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/; s/logitile.gradient/logitile.gradient exponential/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=EXACT
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/; s/logitile.gradient/logitile.gradient exponential/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=EXACT
// EXACT: logitile.buffer @stored_z {{.*}} of "z" : !logitile.view<?x30000xf32, column_major>
// EXACT-NOT: centre

// GPUs keep the same of bf16, where the gradient is no product that the sweep can store. The error
// would be more than that of operands of f16.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 0, chunks = 3, accumulate = false/; s/cpu:avx2/cuda:sm_80/; s/logitile.gradient/logitile.gradient exponential/; s/mulf %zz, %up/addf %zz, %up/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=GPU
// GPU: logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x30000xf16>
// GPU-NEXT: logitile.buffer @centre_z chunk centre of "z" : !logitile.view<235x?xf32>
// GPU-NEXT: logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x30000xbf16>
// RUN: sed 's/$ELEMENT/f16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 0, chunks = 3, accumulate = false/; s/cpu:avx2/cuda:sm_80/; s/logitile.gradient/logitile.gradient exponential/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=FINER
// FINER: logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x30000xf32>
// FINER-NOT: centre
