module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = early, tokens = 8, workspace = 100000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1,
    slice = <columns = 40, part = $PART>>} {
  logitile.program @p vocab 100 columns 40 outputs [#logitile.output<"loss" : f32 is <@finish2[0]>>] indices ["t"] checked [#logitile.result<@finish0[0]>] {
    logitile.finish @finish0 prologue results ["next" : i32] {
      %one = arith.constant 1 : i32
      %t = logitile.input token "t" : i32
      %next = arith.addi %t, %one : i32
      logitile.yield %next : i32
    }
    logitile.sweep @forward0 forward state ["pick" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%pick: f32):
      %column = logitile.column : i32
      %next = logitile.known <@finish0[0]> : i32
      %here = arith.cmpi eq, %column, %next : i32
      %z = logitile.input logits "z" : f32
      %caught = arith.select %here, %z, %pick : f32
      logitile.yield %caught : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      %pick = arith.addf %a, %b : f32
      logitile.yield %pick : f32
    }
    logitile.finish @finish1 forward of @forward0 results ["picked" : f32, "unread" : f32] {
    ^bb0(%pick: f32):
      %twice = arith.addf %pick, %pick : f32
      logitile.yield %pick, %twice : f32, f32
    }
    logitile.sweep @forward1 forward state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      %column = logitile.column : i32
      %ten = arith.constant 10 : i32
      %late = arith.cmpi sgt, %column, %ten : i32
      %z = logitile.input logits "z" : f32
      %picked = logitile.known <@finish1[0]> : f32
      %x = arith.select %late, %z, %picked : f32
      %next = arith.addf %sum, %x : f32
      logitile.yield %next : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      %picked = logitile.known <@finish1[0]> : f32
      %both = arith.addf %a, %b : f32
      %sum = arith.addf %both, %picked : f32
      logitile.yield %sum : f32
    }
    logitile.finish @finish2 forward of @forward1 results ["loss" : f32] {
    ^bb0(%sum: f32):
      logitile.yield %sum : f32
    }
    logitile.finish @finish3 backward results ["up" : f32] {
      %up = logitile.input cotangent "loss" : f32
      logitile.yield %up : f32
    }
    logitile.sweep @backward0 backward state ["total" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%total: f32):
      %up = logitile.known <@finish3[0]> : f32
      %next = arith.addf %total, %up : f32
      logitile.yield %next : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      %total = arith.addf %a, %b : f32
      logitile.yield %total : f32
    }
    logitile.finish @finish4 backward of @backward0 results ["row" : f32] {
    ^bb0(%total: f32):
      logitile.yield %total : f32
    }
    logitile.gradient {
      %up = logitile.known <@finish3[0]> : f32
      %next = logitile.known <@finish0[0]> : i32
      %t = logitile.input token "t" : i32
      %row = logitile.known <@finish4[0]> : f32
      logitile.adjoint logits "z" dense %up sparse [%next -> %row, %t -> %row]
      logitile.adjoint vocab "bias" sparse [%t -> %row]
    }
  }
}
