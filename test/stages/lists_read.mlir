// Lists that are inputs: the log-probabilities at their indices, beside a bias, a mask and a
// target; sums of them and a list as output.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 40, element = bf16>], dense = {mask = i1},
    gradients = [<hidden of "z">, <weight of "z">], mode = split, tokens = 100, workspace = 100000000, chunks = 0,
    accumulate = false, target = "$TARGET", threads = 2>} {
  logitile.loss @lists_read vocab 1000 outputs ["loss", "log_p"] gradient of ["loss"] wrt ["z"] {
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %mask = logitile.input dense "mask" : i1
    %indices = logitile.input token "indices" places 50 : i32
    %teacher = logitile.input token "teacher" places 50 : f32
    %none = arith.constant 0xFF800000 : f32
    %x = arith.addf %z, %bias : f32
    %masked = arith.select %mask, %x, %none : f32
    %lse = logitile.reduce logsumexp %masked : f32 -> f32
    %all = arith.subf %masked, %lse : f32
    %log_p = logitile.gather %all[%indices] : f32
    %p = math.exp %teacher : f32
    %distance = arith.subf %teacher, %log_p : f32
    %square = arith.mulf %distance, %distance : f32
    %term = arith.mulf %p, %square : f32
    %loss = logitile.sum_list %term : f32
    logitile.yield %loss, %log_p : f32, f32
  }
}
