// The adjoint of a mean is subtracted from the values that it sums: it is summed verbatim.
// RUN: logitile-opt --logitile-differentiate %s | FileCheck %s

// CHECK-LABEL: logitile.loss @centred
logitile.loss @centred vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %mean = logitile.reduce mean %z : f32 -> f32
  %x = arith.subf %z, %mean : f32
  %e = math.exp %x : f32
  %loss = logitile.reduce sum %e : f32 -> f32
  // CHECK: logitile.reduce sum verbatim %{{.*}} : f32 -> f32
  // CHECK: logitile.adjoint logits "z" dense
  logitile.yield %loss : f32
}
