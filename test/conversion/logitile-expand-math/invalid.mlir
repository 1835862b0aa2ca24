// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 --verify-diagnostics
// A function without code is refused, not left to a library.

func.func @arctangent(%x: f32) -> f32 {
  // expected-error @+1 {{is not a function of the language, so there is no code for it}}
  %y = math.atan %x : f32
  return %y : f32
}
