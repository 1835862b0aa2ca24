// RUN: %refused %s

func.func @a(%x: i1) {
  // expected-error @+1 {{'logitile.softplus' op operand #0 must be 32-bit float, but got 'i1'}}
  %0 = "logitile.softplus"(%x) : (i1) -> i1
  return
}
