// So few tokens that a GPU makes the gradient of hidden states in parts of the vocabulary.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 256, element = bf16>], dense = {},
    gradients = [<hidden of "z">, <weight of "z">], mode = early, tokens = 100, workspace = 0, chunks = 1,
    accumulate = false, target = "$TARGET", threads = 2>} {
  logitile.loss @few_tokens vocab 30000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %lse = logitile.reduce logsumexp %z : f32 -> f32
    %picked = logitile.gather %z[%target] : f32
    %loss = arith.subf %lse, %picked : f32
    logitile.yield %loss : f32
  }
}
