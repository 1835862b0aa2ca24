// A GPU has up to 128 vocabulary splits for its multiprocessors, of at least four tiles each;
// gradients are made for a sixteenth of them at least. Where nothing fits the budget, first such a
// group becomes smaller, then the splits: gradients of logits take less memory at a time.

// Splits of four tiles and groups of four splits, in one chunk of tokens: several chunks would have
// a float32 sum of the weight's gradient, 61 MB.
// RUN: sed -e 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 2048, workspace = 16000000, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80", threads = 1/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=USUAL
// USUAL: logitile.schedule tokens [257, 2152) vocab_split 512 stored 0 {
// USUAL: logitile.loop vocab_splits 4 from 0 to 59 {

// With more memory, groups of an eighth: more tasks at a time, and fewer sums of gradients that are
// read and written again.
// RUN: sed -e 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 2048, workspace = 26000000, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80", threads = 1/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=EIGHTH
// EIGHTH: vocab_split 512 stored 0 {
// EIGHTH: logitile.loop vocab_splits 8 from 0 to 59 {

// Splits of two tiles, whose groups have half as many columns. Fewer than 1614 tokens fit with the
// usual ones, and have a program with these.
// RUN: sed -e 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 2048, workspace = 12000000, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80", threads = 1/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=PAIRS
// PAIRS: logitile.schedule tokens [1614, 2134) vocab_split 256 stored 0 {
// PAIRS: logitile.loop vocab_splits 4 from 0 to 118 {

// The budget that a refusal names is enough.
// RUN: sed -e 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 2048, workspace = 1000, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80", threads = 1/' %S/Inputs/square.mlir | not %schedule 2>&1 | FileCheck %s --check-prefix=LEAST
// LEAST: needs a workspace of at least 8.0 MiB (8372288 bytes)
// RUN: sed -e 's/$ELEMENT/bf16/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 2048, workspace = 8372288, chunks = 0, accumulate = false/' \
// RUN:     -e 's/cpu:avx2", threads = 4/cuda:sm_80", threads = 1/' %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=ENOUGH
// ENOUGH: vocab_split 256 stored 0 {
// ENOUGH: logitile.loop vocab_splits 1 from 0 to 118 {
