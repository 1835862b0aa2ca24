// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx512 | FileCheck %s
// Elementary functions leave arithmetic and fused products only.

// CHECK-LABEL: func.func @all(
// CHECK-NOT: math.{{exp|log|tanh|powf|rsqrt|erf|sin|cos}}
// CHECK: return
func.func @all(%x: vector<16xf32>, %y: f32) -> (vector<16xf32>, f32) {
  %a = math.exp %x : vector<16xf32>
  %b = math.log %a : vector<16xf32>
  %c = math.tanh %b : vector<16xf32>
  %d = math.log1p %c : vector<16xf32>
  %e = math.expm1 %d : vector<16xf32>
  %f = math.exp2 %e : vector<16xf32>
  %g = math.log2 %f : vector<16xf32>
  %h = math.rsqrt %g : vector<16xf32>
  %i = math.powf %h, %x : vector<16xf32>
  %j = math.exp %y : f32
  %k = math.erf %i : vector<16xf32>
  %l = math.sin %k : vector<16xf32>
  %m = math.cos %l : vector<16xf32>
  return %m, %j : vector<16xf32>, f32
}

// A NaN stays one, and the upper bound wins.
// CHECK-LABEL: func.func @clamp(
// CHECK-SAME: %[[X:[a-z0-9]+]]: vector<16xf32>, %[[LOW:[a-z0-9]+]]: vector<16xf32>, %[[HIGH:[a-z0-9]+]]: vector<16xf32>
// CHECK: %[[RAISED:.*]] = arith.maximumf %[[X]], %[[LOW]]
// CHECK: arith.minimumf %[[RAISED]], %[[HIGH]]
func.func @clamp(%x: vector<16xf32>, %low: vector<16xf32>, %high: vector<16xf32>) -> vector<16xf32> {
  %y = math.clampf %x to [%low, %high] : vector<16xf32>
  return %y : vector<16xf32>
}
