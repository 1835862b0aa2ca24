// RUN: %refused %s

func.func @a(%x: f64) {
  // expected-error @+1 {{'logitile.sigmoid' op operand #0 must be 32-bit float, but got 'f64'}}
  %0 = "logitile.sigmoid"(%x) : (f64) -> f64
  return
}
