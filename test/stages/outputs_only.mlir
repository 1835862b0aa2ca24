// Outputs per token and no gradient: nothing is kept.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 40, element = f16>], dense = {},
    gradients = [], mode = forward, tokens = 100, workspace = 100000000, chunks = 0,
    accumulate = false, target = "$TARGET", threads = 2>} {
  logitile.loss @outputs_only vocab 1000 outputs ["log_p", "entropy", "rank"] {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %lse = logitile.reduce logsumexp %z : f32 -> f32
    %log_p = arith.subf %z, %lse : f32
    %p = math.exp %log_p : f32
    %term = logitile.multiply_no_nan %p, %log_p : f32
    %sum = logitile.reduce sum %term : f32 -> f32
    %entropy = arith.negf %sum : f32
    %picked = logitile.gather %log_p[%target] : f32
    %above = arith.cmpf ogt, %log_p, %picked : f32
    %rank = logitile.reduce count %above : i1 -> i32
    logitile.yield %picked, %entropy, %rank : f32, f32, i32
  }
}
