// RUN: %refused %s

func.func @a(%x: i32) {
  // expected-error @+1 {{'logitile.stop_gradient' op operand #0 must be 32-bit float, but got 'i32'}}
  %0 = "logitile.stop_gradient"(%x) : (i32) -> i32
  return
}
