// RUN: %refused %s

// Values that regions of a program read.

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    // expected-error @+1 {{'logitile.input' op reads cotangent 'loss' in phase forward; cotangents come with the backward phase}}
    %x = logitile.input cotangent "loss" : f32
    logitile.yield %x : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    %x = logitile.input token "t" : f32
    logitile.yield %x : f32
  }
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op uses 't' as scalar, but it was token before}}
    logitile.adjoint scalar "t"
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %t = logitile.input token "t" : i32
    // expected-error @+1 {{'logitile.gather' op picks from a value that is no vocab or dense input; in a program, other picks are sums of a sweep}}
    %picked = logitile.gather %z[%t] : f32
    logitile.adjoint logits "z" dense %picked
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    // expected-error @+1 {{'logitile.reduce' op has no place in 'gradient': expected input, column, gathers, or arith and math ops on f32, i32 and i1}}
    %sum = logitile.reduce sum %z : f32 -> f32
    logitile.adjoint logits "z" dense %sum
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f prologue results ["x" : f32] {
    // expected-error @+1 {{'logitile.input' op reads cotangent 'loss' in phase prologue; cotangents come with the backward phase}}
    %x = logitile.input cotangent "loss" : f32
    logitile.yield %x : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s prologue state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    // expected-error @+1 {{'logitile.input' op reads logits 'z' in the prologue, which has no logits}}
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
}
