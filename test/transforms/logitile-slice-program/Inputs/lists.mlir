module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 8, workspace = 100000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1,
    slice = <columns = 40, part = $PART>>} {
  logitile.program @p vocab 100 columns 40 outputs [#logitile.output<"values" : f32 is <@top[0]>>, #logitile.output<"loss" : f32 is <@after[0]>>] indices [] checked [] {
    logitile.sweep @forward0 forward state [] lists [5] init {
      logitile.yield
    } candidate {
      logitile.yield
    } update {
      logitile.yield
    } merge {
      logitile.yield
    } rank {
      %z = logitile.input logits "z" : f32
      logitile.yield %z : f32
    }
    logitile.finish @third forward of @forward0 list 0 place 2 results ["third" : f32] {
    ^bb0(%value: f32, %index: i32):
      logitile.yield %value : f32
    }
    logitile.finish @top forward of @forward0 list 0 results ["values" : f32, "unread" : i32] {
    ^bb0(%value: f32, %index: i32):
      logitile.yield %value, %index : f32, i32
    }
    logitile.sweep @forward1 forward state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      %z = logitile.input logits "z" : f32
      %third = logitile.known <@third[0]> : f32
      %x = arith.maximumf %z, %third : f32
      %next = arith.addf %sum, %x : f32
      logitile.yield %next : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      logitile.yield %sum : f32
    }
    logitile.finish @after forward of @forward1 results ["loss" : f32] {
    ^bb0(%sum: f32):
      logitile.yield %sum : f32
    }
  }
}
