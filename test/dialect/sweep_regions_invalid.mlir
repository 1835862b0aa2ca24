// RUN: %refused %s

// Signatures.

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op 'init' takes ('f32'), expected ()}}
  logitile.sweep @s forward state ["m" : f32] init {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op 'init' must end in 'logitile.yield', not 'ub.unreachable'}}
  logitile.sweep @s forward state ["m" : f32] init {
    ub.unreachable
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0 : i32
    // expected-error @+1 {{'logitile.yield' op of 'init' gives ('i32'), expected ('f32')}}
    logitile.yield %c : i32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    %column = logitile.column : i32
    // expected-error @+1 {{'logitile.yield' op of 'candidate' gives ('i32'), expected ('f32')}}
    logitile.yield %column : i32
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op 'update' takes (), expected ('f32')}}
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op 'merge' takes ('f32'), expected ('f32', 'f32')}}
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32):
    logitile.yield %ma : f32
  }
}
