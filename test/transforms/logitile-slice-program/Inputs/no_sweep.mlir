module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = early, tokens = 8, workspace = 100000000, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1,
    slice = <columns = 40, part = $PART>>} {
  logitile.program @p vocab 100 columns 40 outputs [#logitile.output<"loss" : f32 is <@finish0[0]>>] indices [] checked [] {
    logitile.finish @finish0 prologue results ["loss" : f32] {
      %a = logitile.input token "a" : f32
      logitile.yield %a : f32
    }
  }
}
