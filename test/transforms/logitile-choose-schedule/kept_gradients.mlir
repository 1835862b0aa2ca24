// Gradients of logits of 16 bits take less than the logits, which have 32. Those of all tokens are
// kept where that fits the budget, beside the logits of a chunk. The products with them come after
// the last chunk, so no sum of a weight's gradient is kept for later chunks.
// contract: 5 stored format
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 400000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s
// CHECK: logitile.schedule tokens [{{[0-9]+}}, {{4[0-9]+}}) vocab_split {{[0-9]+}} stored 30000 {
// CHECK-DAG: logitile.buffer @known_twice call result of @loss[1]
// CHECK-DAG: logitile.buffer @packed_z_rows chunk packed_rows of "z"
// CHECK-DAG: logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x30000xf32, column_major>
// CHECK-DAG: logitile.buffer @grad_z call logit_gradient of "z" : !logitile.view<?x30000xbf16, column_major>
// CHECK-DAG: logitile.buffer @packed_z_columns call packed_columns of "z"
// CHECK-NOT: weight_sum
// CHECK: logitile.run forward {
// CHECK-NEXT: logitile.loop tokens {{[0-9]+}} {
// CHECK-NEXT: logitile.launch "pack_z_rows"
// CHECK-NEXT: logitile.launch "squares" {{.*}} store
// CHECK-NEXT: logitile.launch "loss"
// CHECK-NEXT: logitile.launch "gradient"
// CHECK-NEXT: }
// CHECK-NEXT: logitile.launch "pack_z_columns"
// CHECK-NEXT: logitile.launch "z_hidden" from @contract_hidden<
// CHECK-NOT: accumulate
// CHECK-NEXT: logitile.launch "z_weight" from @contract_weight<{{[^>]*}} out = bf16> {{.*}}out = @gradient_z_weight{{[^}]*}}}{{$}}
// CHECK-NEXT: }

// Targets that pack no operands read the rows of all tokens again.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 400000000, chunks = 0, accumulate = false/; s/cpu:avx2/cuda:sm_80/; s/mulf %zz, %up/addf %zz, %up/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=GPU
// GPU-DAG: logitile.buffer @packed_z_rows call packed_rows of "z"
// GPU-DAG: logitile.buffer @stored_z chunk stored of "z"
// GPU-DAG: logitile.buffer @grad_z call logit_gradient of "z"
// GPU: logitile.loop tokens {{[0-9]+}} {

// The caller's weight gradient is added to once.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 400000000, chunks = 0, accumulate = true/; s/cpu:avx2/cpu:avx512_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=ADDED
// ADDED: logitile.buffer @grad_z call logit_gradient of "z"
// ADDED: logitile.launch "z_weight" {{.*}} accumulate always

// Not if chunks had as few tokens as calls with kernels of their own; nor in a phase that does not
// know the gradient yet; nor where gradients have as many bits as logits.
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 260000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=NOT
// RUN: sed 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 4096, workspace = 400000000, chunks = 0, accumulate = false/; s/cpu:avx2/cpu:avx512_bf16/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=NOT
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 400000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=NOT
// NOT-NOT: call logit_gradient
// NOT: logitile.run forward
