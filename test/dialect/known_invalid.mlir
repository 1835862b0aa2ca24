// RUN: %refused %s

// A known value is a result of an earlier finish of the program, with the result's type.

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    // expected-error @+1 {{'logitile.known' op reads @none[0], which no earlier finish gives}}
    %x = logitile.known <@none[0]> : f32
    logitile.yield %x : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    %x = arith.constant 1.0 : f32
    logitile.yield %x : f32
  }
  logitile.finish @g forward results ["y" : i32] {
    // expected-error @+1 {{'logitile.known' op reads @f[0] as 'i32', but its finish gives 'f32'}}
    %y = logitile.known <@f[0]> : i32
    logitile.yield %y : i32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f backward results ["x" : f32] {
    %x = arith.constant 1.0 : f32
    logitile.yield %x : f32
  }
  logitile.finish @g forward results ["y" : f32] {
    // expected-error @+1 {{'logitile.known' op reads @f[0] in phase forward, but its finish is backward}}
    %y = logitile.known <@f[0]> : f32
    logitile.yield %y : f32
  }
}

// -----

// Only parts of the program after the finish can read its result.

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    // expected-error @+1 {{'logitile.known' op reads @g[0], which no earlier finish gives}}
    %x = logitile.known <@g[0]> : f32
    logitile.yield %x : f32
  }
  logitile.finish @g forward results ["y" : f32] {
    %y = arith.constant 1.0 : f32
    logitile.yield %y : f32
  }
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.known' op reads @f[0]; only programs have results of finishes}}
  %x = logitile.known <@f[0]> : f32
  return
}
