// The largest entries in order and their log-probabilities, and a list of other values beside the
// loss and its gradient.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 40, element = f32>], dense = {},
    gradients = [<hidden of "z">], mode = early, tokens = 100, workspace = 100000000, chunks = 0,
    accumulate = false, target = "$CPU", threads = 2>} {
  logitile.loss @lists vocab 1000 outputs ["loss", "values", "indices", "others"] gradient of ["loss"] wrt ["z"] {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %weight = logitile.input vocab "weight" : f32
    %lse = logitile.reduce logsumexp %z : f32 -> f32
    %log_p = arith.subf %z, %lse : f32
    %values = logitile.reduce top %log_p places 50 : f32 -> f32
    %indices = logitile.reduce argtop %log_p places 50 : f32 -> i32
    %x = arith.mulf %z, %weight : f32
    %others = logitile.reduce argtop %x places 3 : f32 -> i32
    %picked = logitile.gather %z[%target] : f32
    %loss = arith.subf %lse, %picked : f32
    logitile.yield %loss, %values, %indices, %others : f32, f32, i32, i32
  }
}
