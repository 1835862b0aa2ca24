// RUN: %refused %s

logitile.program @a vocab 100 outputs [] indices [] checked [] {
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "i" places 64>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
  logitile.finish @f forward places 64 results ["x" : f32] {
    // expected-error @+1 {{'logitile.picked' op reads @s[1], which no earlier sweep picks}}
    %z = logitile.picked <@s[1]> : f32
    logitile.yield %z : f32
  }
}

// -----

logitile.program @a vocab 100 outputs [] indices [] checked [] {
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "i" places 64>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
  logitile.finish @f forward results ["x" : f32] {
    // expected-error @+1 {{'logitile.picked' op reads a list of 64 places in a region that runs once for each token}}
    %z = logitile.picked <@s[0]> : f32
    logitile.yield %z : f32
  }
}

// -----

logitile.program @a vocab 100 outputs [] indices [] checked [] {
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "i" places 64>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
  logitile.finish @f forward places 32 results ["x" : f32] {
    // expected-error @+1 {{'logitile.picked' op reads a list of 64 places in a region that runs for 32 of them}}
    %z = logitile.picked <@s[0]> : f32
    logitile.yield %z : f32
  }
}

// -----

logitile.program @a vocab 100 outputs [] indices [] checked [] {
  logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "i" places 64>] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
  logitile.finish @f forward places 64 results ["x" : f32] {
    %z = logitile.picked <@s[0]> : f32
    logitile.yield %z : f32
  }
  logitile.finish @g forward results ["y" : f32] {
    // expected-error @+1 {{'logitile.known' op reads @f[0], which has one value for each place of a list}}
    %x = logitile.known <@f[0]> : f32
    logitile.yield %x : f32
  }
}
