// RUN: logitile-opt %s --convert-device-to-llvm | FileCheck %s
// Functions become llvm functions, private ones internal; programs are gone.

// CHECK-NOT: logitile.program
// CHECK: llvm.func @kernel(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// CHECK: llvm.cond_br
// CHECK: llvm.intr.fma
// CHECK: llvm.func internal @helper(
// CHECK-NOT: {{(arith|scf|vector|math|func)\.}}
logitile.program @empty vocab 8 outputs [] indices [] checked [] {
}
func.func @kernel(%arguments: !llvm.ptr, %task: i64, %scratch: !llvm.ptr) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %i = %zero to %task step %one : i64 {
    %p = llvm.getelementptr %arguments[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %x = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    %y = math.fma %x, %x, %x : vector<4xf32>
    llvm.store %y, %p {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
  }
  func.call @helper(%arguments) : (!llvm.ptr) -> ()
  return
}
func.func private @helper(%p: !llvm.ptr) attributes {llvm.linkage = #llvm.linkage<internal>} {
  return
}
