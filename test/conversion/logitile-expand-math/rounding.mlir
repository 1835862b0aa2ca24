// RUN: logitile-opt %s --logitile-expand-math=target=cpu:portable | FileCheck %s --check-prefix=WITHOUT
// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 | FileCheck %s --check-prefix=WITH
// Rounding is an instruction from AVX on.

// WITH: math.floor
// WITHOUT-LABEL: func.func @floor(
// WITHOUT-NOT: math.floor
// WITHOUT: return
func.func @floor(%x: vector<8xf32>) -> vector<8xf32> {
  %y = math.floor %x : vector<8xf32>
  return %y : vector<8xf32>
}
