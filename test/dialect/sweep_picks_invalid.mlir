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
  // expected-error @+1 {{'logitile.sweep' op has picks in phase backward; only forward sweeps have some}}
  logitile.sweep @s backward state [] picks [#logitile.pick<"z" at "i" places 5>] init {
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
