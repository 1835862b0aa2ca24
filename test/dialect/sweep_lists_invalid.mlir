// RUN: %refused %s

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op has lists but no 'rank'}}
  logitile.sweep @s forward state ["m" : f32] lists [3] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op has 'rank' but no lists}}
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op has a list of 1025 places; a list has 1 to 1024}}
  logitile.sweep @s forward state ["m" : f32] lists [1025] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op has lists in phase backward; only forward sweeps have some}}
  logitile.sweep @s backward state ["m" : f32] lists [3] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
}
