// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @sum_tokens
func.func @sum_tokens(%tile: !logitile.tile<64x32xf32>, %grads: !logitile.vocab_grads<TM x TN x acc>, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.sum_tokens %{{.*}} at %{{.*}} below %{{.*}} : !logitile.tile<64x32xf32> -> !logitile.tile<1x32xf32>
  %0 = logitile.sum_tokens %tile at %i below %i : !logitile.tile<64x32xf32> -> !logitile.tile<1x32xf32>
  // CHECK-NEXT: %{{.*}} = logitile.sum_tokens %{{.*}} at %{{.*}} below %{{.*}} : !logitile.vocab_grads<TM x TN x acc> -> !logitile.vocab_grads<1 x TN x acc>
  %1 = logitile.sum_tokens %grads at %i below %i : !logitile.vocab_grads<TM x TN x acc> -> !logitile.vocab_grads<1 x TN x acc>
  return
}
