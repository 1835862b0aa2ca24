// Gradients that the first sweep stores, but for a factor of each token: on GPUs, where products
// are of bf16.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 40, element = bf16>], dense = {},
    gradients = [<hidden of "z">, <weight of "z">], mode = early, tokens = 100, workspace = 0, chunks = 2,
    accumulate = false, target = "$TARGET", threads = 2>} {
  logitile.loss @cross_entropy vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %target = logitile.input token "target" : i32
    %x = arith.addf %z, %bias : f32
    %lse = logitile.reduce logsumexp %x : f32 -> f32
    %picked = logitile.gather %x[%target] : f32
    %loss = arith.subf %lse, %picked : f32
    logitile.yield %loss : f32
  }
}
