// Masks along the vocabulary and per token, the best entry and what other inputs hold there, all
// kinds of outputs, gradients per token from a fused sweep.
// RUN: %python %S/check_stages.py %s
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 40, element = f32>], dense = {seen = i1},
    gradients = [<hidden of "z">, <input of "shift">], mode = early, tokens = 100, workspace = 100000000, chunks = 0,
    accumulate = false, target = "$TARGET", threads = 2>} {
  logitile.loss @masks vocab 1000 outputs ["loss", "best", "is_seen"] gradient of ["loss"] wrt ["z", "shift"] {
    %z = logitile.input logits "z" : f32
    %keep = logitile.input vocab "keep" : i1
    %weight = logitile.input vocab "weight" : f32
    %seen = logitile.input dense "seen" : i1
    %shift = logitile.input token "shift" : f32
    %minus_infinity = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %shifted = arith.mulf %weight, %shift : f32
    %x = arith.addf %z, %shifted : f32
    %allowed = arith.andi %keep, %seen : i1
    %masked = arith.select %allowed, %x, %minus_infinity : f32
    %best = logitile.reduce argmax %masked : f32 -> i32
    %lse = logitile.reduce logsumexp %masked : f32 -> f32
    %largest = logitile.gather %masked[%best] : f32
    %w = logitile.gather %weight[%best] : f32
    %is_seen = logitile.gather %seen[%best] : i1
    %d = arith.subf %lse, %largest : f32
    %loss = arith.mulf %d, %w : f32
    logitile.yield %loss, %best, %is_seen : f32, i32, i1
  }
}
