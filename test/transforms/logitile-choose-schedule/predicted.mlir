// Seconds are predicted by the rates of the target, or by those that one machine was measured to
// have. These change no schedule: of four threads, 59e9 products a second each by the table, and
// here a tenth of the memory's rate, and pages that cost something.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 100000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir > %t.mlir
// RUN: %schedule < %t.mlir | FileCheck %s --check-prefixes=CHECK,TABLE
// RUN: sed 's/module attributes {/module attributes {logitile.unit_rates = {float32 = 5.9, bfloat16 = 0.0, memory = 2.0, pages = 0.1}, /' %t.mlir \
// RUN:     | %schedule | FileCheck %s --check-prefixes=CHECK,SLOW
// Where products, memory and pages take no time, the functions of the loss do: 1 ns for each of
// 4096 x 30000 logits in two sweeps, by four threads, is 0.06 s. The rest is traffic between
// caches.
// RUN: sed 's/module attributes {/module attributes {logitile.unit_rates = {float32 = 1.0e6, bfloat16 = 0.0, memory = 1.0e6, pages = 1.0e6}, /' %t.mlir \
// RUN:     | %schedule | FileCheck %s --check-prefixes=CHECK,LOSS
// LOSS: logitile.predicted_seconds = 0.10
// TABLE: logitile.predicted_seconds = {{1\.[0-9]+}}
// SLOW: logitile.predicted_seconds = {{1[0-9]\.[0-9]+|1\.[0-9]+e\+01}}
// CHECK: logitile.loop tokens 688 {
