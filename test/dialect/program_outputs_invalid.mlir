// RUN: %refused %s

// Outputs and indices.

// expected-error @+1 {{'logitile.program' op output 'loss' is @f[0], which no finish gives}}
logitile.program @a vocab 5 outputs [#logitile.output<"loss" : f32 is <@f[0]>>] indices [] checked [] {
}

// -----

// expected-error @+1 {{'logitile.program' op output 'loss' is 'f32', but its finish gives 'i32'}}
logitile.program @a vocab 5 outputs [#logitile.output<"loss" : f32 is <@f[0]>>] indices [] checked [] {
  logitile.finish @f forward results ["loss" : i32] {
    %x = arith.constant 1 : i32
    logitile.yield %x : i32
  }
}

// -----

// If an output is an i1, the result of its finish must be an i32.
// expected-error @+1 {{'logitile.program' op output 'holds' is 'i1', but its finish gives 'f32'}}
logitile.program @a vocab 5 outputs [#logitile.output<"holds" : i1 is <@f[0]>>] indices [] checked [] {
  logitile.finish @f forward results ["holds" : f32] {
    %x = arith.constant 1.0 : f32
    logitile.yield %x : f32
  }
}

// -----

// expected-error @+1 {{'logitile.program' op names output 'x' twice}}
logitile.program @a vocab 5 outputs [#logitile.output<"x" : i32 is <@f[0]>>, #logitile.output<"x" : i32 is <@f[0]>>] indices [] checked [] {
  logitile.finish @f forward results ["x" : i32] {
    %x = arith.constant 1 : i32
    logitile.yield %x : i32
  }
}

// -----

// expected-error @+1 {{'logitile.program' op checked index @none[0] is no i32 result of a finish}}
logitile.program @a vocab 5 outputs [] indices [] checked [#logitile.result<@none[0]>] {
}

// -----

// expected-error @+1 {{'logitile.program' op checked index @f[0] is no i32 result of a finish}}
logitile.program @a vocab 5 outputs [] indices [] checked [#logitile.result<@f[0]>] {
  logitile.finish @f forward results ["x" : f32] {
    %x = arith.constant 1.0 : f32
    logitile.yield %x : f32
  }
}
