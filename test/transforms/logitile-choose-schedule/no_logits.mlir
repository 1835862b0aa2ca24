// A loss without logits multiplies nothing. Its launches name an algorithm all the same: one that
// the target has.
// RUN: sed 's/$TARGET/cpu:avx2/' %s | logitile-compile --to=plan | FileCheck %s -DALGORITHM=panels
// RUN: sed 's/$TARGET/cuda:sm_80/' %s | logitile-compile --to=plan | FileCheck %s -DALGORITHM=mma_sync
// CHECK: logitile.launch "forward0" from @sweep{{.*}} using [[ALGORITHM]] sweep @forward0
module attributes {logitile.request = #logitile.request<projections = [], dense = {},
    gradients = [], mode = forward, tokens = 100, workspace = 100000000, chunks = 0,
    accumulate = false, target = "$TARGET", threads = 2>} {
  logitile.loss @l vocab 1000 outputs ["loss"] {
    %w = logitile.input vocab "w" : f32
    %t = logitile.input token "t" : f32
    %x = arith.mulf %w, %t : f32
    %lse = logitile.reduce logsumexp %x : f32 -> f32
    logitile.yield %lse : f32
  }
}
