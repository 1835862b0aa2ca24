// A number of chunks, not a budget: their size follows the number of tokens at run time, for any
// number of tokens.

// Three chunks, each with its logits stored.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 0, chunks = 3, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=THREE
// THREE: logitile.schedule tokens [25, 9223372036854775807) vocab_split 1920 stored 30000 {
// THREE: logitile.loop tokens -3 {
// THREE: from @gradient<{{[^>]*}}>{{( vocab_splits.*)?$}}
// THREE: logitile.launch "z_weight" {{.*}} accumulate tokens

// One: no loop.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 0, chunks = 1, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=ONE
// ONE: stored 30000 {
// ONE-NOT: logitile.loop
// ONE-NOT: accumulate

// In two phases the logits of earlier chunks are gone: they are recomputed, the whole vocabulary at
// a time.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = split, tokens = 4096, workspace = 0, chunks = 2, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=SPLIT
// SPLIT: stored 0 {
// SPLIT: logitile.run forward {
// SPLIT-NEXT: logitile.loop tokens -2 {
// SPLIT: logitile.run backward {
// SPLIT-NEXT: logitile.loop tokens -2 {
// SPLIT: logitile.loop vocab_splits 16 from 0 to 16 {
// SPLIT-NEXT: logitile.launch "gradient" from @gradient<{{[^>]*}}> using panels
