// RUN: %refused %s

func.func @a(%w: i32) {
  // expected-error @+1 {{'logitile.weigh' op operand #0 must be 32-bit float, but got 'i32'}}
  %0 = "logitile.weigh"(%w, %w) : (i32, i32) -> f32
  return
}
