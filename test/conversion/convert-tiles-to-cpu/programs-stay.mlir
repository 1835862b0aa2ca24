// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// What is no kernel is left alone.

// CHECK: logitile.program @empty vocab 8
logitile.program @empty vocab 8 outputs [] indices [] checked [] {
}
