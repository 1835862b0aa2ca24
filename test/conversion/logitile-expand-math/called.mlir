// RUN: logitile-opt %s "--logitile-expand-math=target=cpu:avx2 inlined=2" | FileCheck %s
// Of many elementary functions, each kind and type is one function, whose arithmetic stands there
// once.

// CHECK-LABEL: func.func @many(
// CHECK-COUNT-2: call @math.tanh$8({{.*}}) : (vector<8xf32>) -> vector<8xf32>
// CHECK: call @math.exp$8({{.*}}) : (vector<8xf32>) -> vector<8xf32>
// CHECK: return
func.func @many(%x: vector<8xf32>) -> vector<8xf32> {
  %a = math.tanh %x : vector<8xf32>
  %b = math.tanh %a : vector<8xf32>
  %c = math.exp %b : vector<8xf32>
  return %c : vector<8xf32>
}

// CHECK: func.func private @math.tanh$8(
// CHECK-NOT: math.tanh
// CHECK: func.func private @math.exp$8(
// CHECK-NOT: math.exp
