// RUN: %refused %s

func.func @a() {
  // expected-error @+1 {{'logitile.column' op result #0 must be 32-bit signless integer, but got 'i64'}}
  %0 = logitile.column : i64
  return
}
