// RUN: %refused %s

logitile.loss @a vocab 5 outputs ["l"] {
  %l = arith.constant 1.0 : f64
  // expected-error @+1 {{'logitile.yield' op operand #0 must be variadic of a scalar of f32, i32 or i1, but got 'f64'}}
  logitile.yield %l : f64
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %l = arith.constant 1.0 : f32
  // expected-error @+1 {{'logitile.yield' op must be the last operation in the parent block}}
  logitile.yield %l : f32
  logitile.yield %l : f32
}
