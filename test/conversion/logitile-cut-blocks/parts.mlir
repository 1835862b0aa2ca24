// RUN: logitile-opt %s "--logitile-cut-blocks=longest=4 part=3" | FileCheck %s
// Each part is a function. What a later part reads lies in memory of the caller, what stands
// outside of the block is an argument, and constants and addresses are recomputed.

// CHECK-LABEL: func.func @kernel(
// CHECK-SAME:      %[[FROM:.*]]: !llvm.ptr, %[[X:.*]]: vector<8xf32>)
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(96 : i64) : i64
// CHECK: %[[MEMORY:.*]] = llvm.alloca %[[BYTES]] x i8 {alignment = 64 : i64} : (i64) -> !llvm.ptr
// CHECK-NEXT: call @kernel$part0(%[[MEMORY]], %[[FROM]], %[[X]]) : (!llvm.ptr, !llvm.ptr, vector<8xf32>) -> ()
// CHECK-NEXT: call @kernel$part1(%[[MEMORY]], %[[FROM]]) : (!llvm.ptr, !llvm.ptr) -> ()
// CHECK-NEXT: %[[PLACE:.*]] = llvm.getelementptr %[[MEMORY]][64]
// CHECK-NEXT: %[[RESULT:.*]] = llvm.load %[[PLACE]] {alignment = 32 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK-NEXT: return %[[RESULT]]
func.func @kernel(%from: !llvm.ptr, %x: vector<8xf32>) -> vector<8xf32> {
  %one = arith.constant dense<1.0> : vector<8xf32>
  %address = llvm.getelementptr %from[32] : (!llvm.ptr) -> !llvm.ptr, i8
  %a = llvm.load %address : !llvm.ptr -> vector<8xf32>
  %b = arith.addf %a, %x : vector<8xf32>
  %c = arith.mulf %b, %one : vector<8xf32>
  %d = arith.addf %b, %c : vector<8xf32>
  llvm.store %d, %address : vector<8xf32>, !llvm.ptr
  %e = arith.mulf %d, %one : vector<8xf32>
  return %e : vector<8xf32>
}

// CHECK-DAG: func.func private @kernel$part0(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: vector<8xf32>)
// CHECK-DAG: func.func private @kernel$part1(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
