// RUN: %refused %s

// Values that regions of a sweep read.

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] init {
    // expected-error @+1 {{'logitile.input' op stands in 'init', which gives the same state for every token and reads nothing}}
    %c = logitile.input token "t" : f32
    logitile.yield %c : f32
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
    logitile.yield
  } update {
  ^bb0(%m: f32):
    %z = logitile.input logits "z" : f32
    // expected-error @+1 {{'logitile.stop_gradient' op has no place in 'update': expected input, column, gathers, or arith and math ops on f32, i32 and i1}}
    %s = logitile.stop_gradient %z : f32
    logitile.yield %s : f32
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
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    // expected-error @+1 {{'logitile.input' op differs along the vocabulary, which 'merge' does not see: it has one value per token}}
    %bias = logitile.input vocab "bias" : f32
    logitile.yield %bias : f32
  }
}
