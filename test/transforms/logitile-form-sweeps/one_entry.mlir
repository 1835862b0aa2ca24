// In a vocabulary of one entry, sums and means are that entry.
// contract: 5 one value
// RUN: %form_sweeps %s | FileCheck %s

// The mean is the square as it is rounded: no rounding of the square is kept beside it.
// CHECK-LABEL: logitile.program @one_entry
// CHECK: } update {
// CHECK-NOT: math.fma
// CHECK: } merge {
logitile.loss @one_entry vocab 1 outputs ["loss"] {
  %z = logitile.input logits "z" : f32
  %x = arith.mulf %z, %z : f32
  %mean = logitile.reduce mean %x : f32 -> f32
  %centred = arith.subf %x, %mean : f32
  %loss = logitile.reduce logsumexp %centred : f32 -> f32
  logitile.yield %loss : f32
}
