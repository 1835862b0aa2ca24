// RUN: logitile-opt %s --logitile-expand-math=target=cpu:portable | FileCheck %s --check-prefix=WITHOUT
// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 | FileCheck %s --check-prefix=WITH
// A fused product stays one; without an instruction it is made in f64, where the product is exact.

// WITH: math.fma
// WITHOUT-LABEL: func.func @fma(
// WITHOUT-NOT: math.fma
// WITHOUT: %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<4xf64>
// WITHOUT: %[[SUM:.*]] = arith.addf %[[PRODUCT]], %{{.*}} : vector<4xf64>
// WITHOUT: arith.truncf %[[SUM]] : vector<4xf64> to vector<4xf32>
func.func @fma(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  %y = math.fma %a, %b, %c : vector<4xf32>
  return %y : vector<4xf32>
}
