// RUN: %refused %s

func.func @a(%w: i32) {
  // expected-error @+1 {{'logitile.multiply_no_nan' op operand #0 must be 32-bit float, but got 'i32'}}
  %0 = "logitile.multiply_no_nan"(%w, %w) : (i32, i32) -> f32
  return
}
