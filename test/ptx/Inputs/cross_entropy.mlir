module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 1024, element = $ELEMENT>], dense = {},
    gradients = [], mode = forward, tokens = 4096, workspace = 268435456, chunks = 0, accumulate = false,
    target = "cuda:sm_80", threads = 108>} {
  logitile.loss @cross_entropy vocab $VOCAB outputs ["loss"] {
    %z = logitile.input logits "z" : f32
    %target = logitile.input token "target" : i32
    %lse = logitile.reduce logsumexp %z : f32 -> f32
    %picked = logitile.gather %z[%target] : f32
    %loss = arith.subf %lse, %picked : f32
    logitile.yield %loss : f32
  }
}
