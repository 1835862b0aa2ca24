// A divergence of two projections with gradients along with the outputs. On an A100, the logits of
// each projection have a kernel of their own.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<
    projections = [#logitile.projection<"z", hidden = 768, element = bf16>, #logitile.projection<"t", hidden = 640, element = bf16>], dense = {},
    gradients = [<hidden of "z">, <weight of "z">, <hidden of "t">, <weight of "t">], mode = early, tokens = 512, workspace = 64000000, chunks = 0,
    accumulate = false, target = "$TARGET", threads = 2>} {
  logitile.loss @apart vocab 3000 outputs ["loss"] gradient of ["loss"] wrt ["z", "t"] {
    %z = logitile.input logits "z" : f32
    %t = logitile.input logits "t" : f32
    %a = logitile.reduce logsumexp %z : f32 -> f32
    %b = logitile.reduce logsumexp %t : f32 -> f32
    %log_p = arith.subf %z, %a : f32
    %log_q = arith.subf %t, %b : f32
    %q = math.exp %log_q : f32
    %d = arith.subf %log_q, %log_p : f32
    %term = arith.mulf %q, %d : f32
    %loss = logitile.reduce sum %term : f32 -> f32
    logitile.yield %loss : f32
  }
}
