// A backward pass of its own: what it reads is saved, or recomputed.

// All logits saved. The gradient is made vocabulary split by vocabulary split beside them; the
// hidden gradient is summed over the vocabulary splits in f32.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 4096, workspace = 900000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=SAVED
// SAVED: stored 30000 {
// SAVED-DAG: logitile.buffer @known_twice saved result of @loss[1]
// SAVED-DAG: logitile.buffer @known_loss call result of @loss[0]
// SAVED-DAG: logitile.buffer @stored_z saved stored of "z" : !logitile.view<?x30000xf32, column_major>
// SAVED-DAG: logitile.buffer @grad_z chunk logit_gradient of "z" window 1920 : !logitile.view<?x30000xf32, column_major>
// SAVED-DAG: logitile.buffer @sum_z_hidden chunk hidden_sum of "z" : !logitile.view<?x512xf32>
// SAVED: logitile.run forward {
// SAVED: logitile.launch "squares" from @sweep<{{.*}}> using panels sweep @squares store
// SAVED: logitile.run backward {
// SAVED-NOT: pack_z_rows
// SAVED: logitile.loop vocab_splits 1 from 0 to 16 {
// SAVED-NEXT: logitile.launch "gradient" from @gradient<{{[^>]*}}>{{( vocab_splits.*)?$}}
// SAVED-NEXT: logitile.launch "z_hidden" from @contract_hidden<{{.*}} part views {{.*}}accumulate vocab_splits
// SAVED-NEXT: logitile.launch "z_weight" from @contract_weight<{{.*}}@gradient_z_weight, unscaled = @packed_z_columns}
// SAVED-NEXT: }
// SAVED-NEXT: logitile.launch "round_z_hidden" from @round_rows

// A part of the vocabulary is saved, and the rest is recomputed after it. Sums go on from one part
// to the other.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 4096, workspace = 400000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=PART
// PART: stored 15360 {
// PART-DAG: logitile.buffer @stored_z saved stored of "z" window 15360
// PART: logitile.run forward {
// PART: logitile.launch "squares_stored" from @sweep<{{.*}}> using panels sweep @squares store vocab_splits [0, 8]
// PART-NEXT: logitile.launch "squares" from @sweep<{{.*}}> using panels sweep @squares vocab_splits [8, 16]
// PART: logitile.run backward {
// PART-NEXT: logitile.launch "pack_z_rows_again" from @pack
// PART: logitile.loop vocab_splits 1 from 0 to 8 {
// PART-NEXT: logitile.launch "gradient_stored" from @gradient<{{[^>]*}}>{{( vocab_splits.*)?$}}
// PART-NEXT: logitile.launch "z_hidden_stored" {{.*}} accumulate vocab_splits
// PART: logitile.loop vocab_splits 1 from 8 to 16 {
// PART-NEXT: logitile.launch "gradient" from @gradient<CENTRE = {{[0-9]+}}, TK = 256,
// PART-NEXT: logitile.launch "z_hidden" {{.*}} accumulate always

// Nothing saved but values per token. With room for it, several vocabulary splits of the gradient
// at a time, in chunks of tokens.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 4096, workspace = 90000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=AGAIN
// AGAIN: stored 0 {
// AGAIN-NOT: stored of
// AGAIN: logitile.run forward {
// AGAIN-NEXT: logitile.loop tokens [[CHUNK:[0-9]+]] {
// AGAIN: logitile.run backward {
// AGAIN-NEXT: logitile.loop tokens [[CHUNK]] {
// AGAIN: logitile.loop vocab_splits 4 from 0 to 16 {
// AGAIN-NEXT: logitile.launch "gradient" from @gradient<{{[^>]*}}> using panels
// AGAIN-NEXT: logitile.launch "z_hidden" {{.*}} accumulate vocab_splits
// AGAIN-NEXT: logitile.launch "z_weight" {{.*}} accumulate tokens

// A GPU makes the gradients of a quarter of the vocabulary at a time: those of one vocabulary split
// would leave most of it idle.
// RUN: sed -e 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 128, workspace = 20000000, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80", threads = 108/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=GPU
// GPU: vocab_split 512 stored 30000 {
// GPU: logitile.loop vocab_splits 15 from 0 to 59 {
// RUN: sed -e 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 512, workspace = 60000000, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80", threads = 108/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=GPU-PART
// GPU-PART: vocab_split 512 stored 14848 {
// GPU-PART: logitile.loop vocab_splits 15 from 0 to 29 {
// GPU-PART: logitile.loop vocab_splits 15 from 29 to 59 {
