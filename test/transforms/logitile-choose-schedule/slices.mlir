// The gradient of a slice: no sweep makes logits that could be kept, so its groups of vocabulary
// splits make them. Sizes are those of the slice.
// RUN: logitile-opt --logitile-choose-schedule %s | FileCheck %s

// CHECK: logitile.schedule tokens {{.*}} stored 0 {
// CHECK-DAG: logitile.buffer @z_weight input weight of "z" : !logitile.view<4000x64xf32>
// CHECK-DAG: logitile.buffer @bias call input of "bias" : !logitile.view<4000xf32>
// CHECK-DAG: logitile.buffer @gradient_z_weight output weight_gradient of "z" : !logitile.view<4000x64xf32>
// CHECK-NOT: stored.z
// CHECK: logitile.run prologue {
// CHECK-NEXT: logitile.launch "finish1" from @finish
// CHECK: logitile.run forward {
// CHECK: logitile.loop vocab_splits
// CHECK-NEXT: logitile.launch "gradient" from @gradient<{{[^>]*}}> using panels
// CHECK: logitile.launch "round_z_hidden" from @round_rows
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 64, element = f32>], dense = {}, gradients = [<hidden of "z">, <weight of "z">],
    mode = early, tokens = 256, workspace = 300000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1,
    slice = <columns = 4000, part = gradient, sweep = 0>>} {
  logitile.program @p vocab 32000 columns 4000 sweeps [1, 0] outputs [#logitile.output<"loss" : f32 is <@finish1[0]>>] indices [] checked [] {
    logitile.finish @finish1 prologue results ["loss" : f32] {
      %max = logitile.input token "forward0.max0" : f32
      logitile.yield %max : f32
    }
    logitile.gradient {
      %z = logitile.input logits "z" : f32
      %bias = logitile.input vocab "bias" : f32
      %loss = logitile.known <@finish1[0]> : f32
      %biased = arith.addf %z, %bias : f32
      %x = arith.mulf %biased, %loss : f32
      logitile.adjoint logits "z" dense %x
    }
  }
}
