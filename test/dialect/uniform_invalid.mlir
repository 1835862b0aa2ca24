// RUN: %refused %s

func.func @seed(%a: i64, %b: i32) {
  // expected-error @+1 {{'logitile.uniform' op operand #0 must be 32-bit signless integer, but got 'i64'}}
  %0 = "logitile.uniform"(%a, %b, %b, %b) : (i64, i32, i32, i32) -> f32
  return
}

// -----

func.func @result(%a: i32) {
  // expected-error @+1 {{'logitile.uniform' op result #0 must be 32-bit float, but got 'f64'}}
  %0 = "logitile.uniform"(%a, %a, %a, %a) : (i32, i32, i32, i32) -> f64
  return
}
