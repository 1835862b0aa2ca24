// RUN: %refused %s

logitile.program @a vocab 100 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op picks at 5000 places of 'i'; a list that is read has 1 to 4096}}
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "i" places 5000>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
}

// -----

logitile.program @a vocab 100 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op has picks in phase fused; only forward and backward sweeps have some}}
  logitile.sweep @s fused state [] picks [#logitile.pick<"z" at "i" places 5>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
}

// -----

logitile.program @a vocab 100 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op has a pick without a name of indices}}
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "" places 5>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
}

// -----

logitile.program @a vocab 100 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op picks at 5 : i64; expected the name of an input or a result of a finish}}
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at 5 : i64 places 5>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
}

// -----

// The list has 3 places.
logitile.program @a vocab 100 outputs [] indices [] checked [] {
  logitile.sweep @t forward state [] lists [3] init {
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
  logitile.finish @best forward of @t list 0 results ["index" : i32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %index : i32
  }
  // expected-error @+1 {{'logitile.sweep' op picks at @best[0], which is no list of 5 indices of an earlier finish}}
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at #logitile.result<@best[0]> places 5>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
}
