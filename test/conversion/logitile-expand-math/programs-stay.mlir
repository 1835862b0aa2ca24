// RUN: logitile-opt %s --logitile-expand-math=target=cpu:avx2 | FileCheck %s
// Earlier stages in the same module keep their functions.

// CHECK: logitile.finish
// CHECK: math.log
logitile.program @empty vocab 8 outputs [] indices [] checked [] {
  logitile.finish @after forward results ["y" : f32] {
    %x = arith.constant 2.0 : f32
    %y = math.log %x : f32
    logitile.yield %y : f32
  }
}
