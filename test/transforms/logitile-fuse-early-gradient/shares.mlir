// The update and the early map take an exponential of the same value, one relative to the running
// maximum and the other relative to the reference. The second becomes the first times a factor of
// the row. What both compute besides, here the hyperbolic tangent, is computed once.
// RUN: sed 's/$EARLY/ early/; s/$SCALE/1.44269502/' %s | logitile-opt --logitile-fuse-early-gradient | FileCheck %s
// Only maps that are early are changed: of others, all values matter.
// RUN: sed 's/$EARLY//; s/$SCALE/1.44269502/' %s | logitile-opt --logitile-fuse-early-gradient | FileCheck %s --check-prefix=APART
// An exponential of another multiple is another exponential.
// RUN: sed 's/$EARLY/ early/; s/$SCALE/0.5/' %s | logitile-opt --logitile-fuse-early-gradient | FileCheck %s --check-prefix=APART

// CHECK: %{{.*}}:2, %[[G:.*]] = logitile.update_state(
// CHECK-SAME: entries (!logitile.tile<64x64xf32>)
// CHECK: } update {
// CHECK-NEXT: ^bb0(%[[MAX:.*]]: f32, %{{.*}}: f32, %[[X:.*]]: f32, %[[REFERENCE:.*]]: f32):
// CHECK-NEXT: %[[C:.*]] = math.tanh %[[X]] : f32
// CHECK: %[[E:.*]] = math.exp2 %{{.*}} fastmath<afn> : f32
// CHECK-NOT: math.tanh
// CHECK: %[[DISTANCE:.*]] = arith.subf %[[MAX]], %[[REFERENCE]] : f32
// CHECK-NEXT: %[[SCALED:.*]] = arith.mulf %[[DISTANCE]], %{{.*}} : f32
// CHECK-NEXT: %[[FACTOR:.*]] = math.exp2 %[[SCALED]] fastmath<afn> : f32
// CHECK-NEXT: %[[SHARED:.*]] = arith.mulf %[[E]], %[[FACTOR]] : f32
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[C]], %[[C]] : f32
// CHECK: %[[ENTRY:.*]] = arith.mulf %[[SHARED]], %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[MAX]], %{{.*}}, %[[ENTRY]] : f32, f32, f32
// CHECK-NEXT: } merge {
// CHECK-NOT: logitile.map
// CHECK: logitile.store %[[G]] to
// APART-NOT: entries
// APART: logitile.map
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @capped(%n: index from tokens, %z: !logitile.view<?x128xf32> from @z, %known: !logitile.view<?xf32> from @known,
                          %max: !logitile.view<1x?xf32> from @max, %sum: !logitile.view<1x?xf32> from @sum,
                          %out: !logitile.view<?x128xbf16> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (%n) step (64) {
      %start:2 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
        %least = arith.constant -1.0 : f32
        %none = arith.constant 0.0 : f32
        logitile.yield %least, %none : f32, f32
      }
      %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x128xf32> -> !logitile.tile<64x64xf32>
      %reference = logitile.load %known at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
      %next:2 = logitile.update_state(%start#0, %start#1) with(%tile, %reference) at %zero below 128
          : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x64xf32>, !logitile.tile<64x1xf32>) init {
        %least = arith.constant -1.0 : f32
        %none = arith.constant 0.0 : f32
        logitile.yield %least, %none : f32, f32
      } candidate {
      ^bb0(%x: f32, %r: f32):
        %c = math.tanh %x : f32
        logitile.yield %c : f32
      } update {
      ^bb0(%m: f32, %s: f32, %x: f32, %r: f32):
        %c = math.tanh %x : f32
        %d = arith.subf %c, %m : f32
        %log2e = arith.constant 1.44269502 : f32
        %f = arith.mulf %d, %log2e : f32
        %e = math.exp2 %f fastmath<afn> : f32
        %t = arith.addf %s, %e : f32
        logitile.yield %m, %t : f32, f32
      } merge {
      ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32, %x: f32, %r: f32):
        %t = arith.addf %sa, %sb : f32
        logitile.yield %ma, %t : f32, f32
      }
      %g = logitile.map(%tile, %reference) at %zero$EARLY : (!logitile.tile<64x64xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%x: f32, %r: f32):
        %c = math.tanh %x : f32
        %d = arith.subf %c, %r : f32
        %log2e = arith.constant $SCALE : f32
        %f = arith.mulf %d, %log2e : f32
        %e = math.exp2 %f fastmath<afn> : f32
        %square = arith.mulf %c, %c : f32
        %one = arith.constant 1.0 : f32
        %slope = arith.subf %one, %square : f32
        %product = arith.mulf %e, %slope : f32
        logitile.yield %product : f32
      }
      logitile.store %next#0 to %max at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
      logitile.store %next#1 to %sum at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
      logitile.store %g to %out at [%row, %zero] : !logitile.tile<64x64xf32> to !logitile.view<?x128xbf16>
    }
  }
}
