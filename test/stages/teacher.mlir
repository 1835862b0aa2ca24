// A divergence from a teacher, whose projection has its own hidden size. A backward pass of its
// own, a part of the logits saved.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<
    projections = [#logitile.projection<"z", hidden = 40, element = f32>, #logitile.projection<"t", hidden = 24, element = f32>], dense = {},
    gradients = [<hidden of "z">, <weight of "z">], mode = split, tokens = 512, workspace = 8000000, chunks = 0,
    accumulate = true, target = "$TARGET", threads = 2>} {
  logitile.loss @teacher vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
    %z = logitile.input logits "z" : f32
    %t = logitile.input logits "t" : f32
    %a = logitile.reduce logsumexp %z : f32 -> f32
    %b = logitile.reduce logsumexp %t : f32 -> f32
    %log_p = arith.subf %z, %a : f32
    %log_q = arith.subf %t, %b : f32
    %p = math.exp %log_p : f32
    %q = math.exp %log_q : f32
    %sum = arith.addf %p, %q : f32
    %log_sum = math.log %sum : f32
    %d = arith.subf %log_q, %log_sum : f32
    %term = logitile.multiply_no_nan %q, %d : f32
    %loss = logitile.reduce sum %term : f32 -> f32
    logitile.yield %loss : f32
  }
}
