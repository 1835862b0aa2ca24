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
  // expected-error @+1 {{'logitile.finish' op adds up a result of 'i32'; sums are f32}}
  logitile.finish @f forward places 64 summed results ["x" : i32] {
    %i = logitile.input token "i" places 64 : i32
    logitile.yield %i : i32
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
  // expected-error @+1 {{'logitile.finish' op is 'summed', but does not go through places of lists}}
  logitile.finish @f forward summed results ["x" : f32] {
    %i = logitile.input token "t" : f32
    logitile.yield %i : f32
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
  // expected-error @+1 {{'logitile.finish' op goes through places of lists that it reads; it is 'of' no sweep, of no 'list' and at no 'place'}}
  logitile.finish @f forward of @s places 64 results ["x" : f32] {
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
  // expected-error @+1 {{'logitile.finish' op 'places' is 4097; a list that is read has 1 to 4096}}
  logitile.finish @f forward places 4097 results ["x" : f32] {
    %i = logitile.input token "t" : f32
    logitile.yield %i : f32
  }
}
