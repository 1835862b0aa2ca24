// RUN: logitile-opt %s --logitile-centre-logits | FileCheck %s

// Of a softcap the argument of tanh is kept, within the bounds beyond which it is 1 or -1: there is no centre.
// CHECK-LABEL: logitile.kernel @capped(
// CHECK-NOT: centre
// CHECK: logitile.update_rows
// CHECK: logitile.map(%{{.*}}) at
// CHECK-NEXT: ^bb0(%[[VALUE:.*]]: f32):
// CHECK-NEXT: %[[CAP:.*]] = arith.constant {{.*}} : f32
// CHECK-NEXT: %[[INNER:.*]] = arith.mulf %[[VALUE]], %[[CAP]] : f32
// CHECK-NEXT: %[[TEN:.*]] = arith.constant -1.000000e+01 : f32
// CHECK-NEXT: arith.cmpf olt, %[[INNER]], %[[TEN]] : f32
// CHECK-NOT: math.tanh
// CHECK: logitile.store %{{.*}} : !logitile.tile<64x32xf32> to !logitile.view<?x32xf16, column_major>
logitile.kernel @capped(%count: index from tokens, %x: !logitile.view<?x16xf32> from @z_hidden, %w: !logitile.view<32x16xf32> from @z_weight,
                        %kept: !logitile.view<?x32xf16, column_major> from @kept_z) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %rows = logitile.init_rows : !logitile.tile<64x1xf32> {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    }
    %z = logitile.project %x, %w at [%row, %zero] by 16 using dot_products : !logitile.view<?x16xf32>, !logitile.view<32x16xf32> -> !logitile.tile<64x32xf32>
    logitile.store %z to %kept at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf16, column_major>
    %next = logitile.update_rows(%rows) with (%z) at %zero below 32 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    } bound {
    ^bb0(%value: f32):
      %cap = arith.constant 0.03 : f32
      %inner = arith.mulf %value, %cap : f32
      %bounded = math.tanh %inner : f32
      logitile.yield %bounded : f32
    } update {
    ^bb0(%m: f32, %value: f32):
      logitile.yield %m : f32
    } merge {
    ^bb0(%a: f32, %b: f32, %value: f32):
      %both = arith.maxnumf %a, %b : f32
      logitile.yield %both : f32
    }
  }
}
// CHECK-LABEL: logitile.kernel @slope(
// CHECK: logitile.map(%{{.*}})
// CHECK-NEXT: ^bb0(%[[NEAR:.*]]: f32):
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[NEAR]] : f32
// CHECK-NEXT: logitile.yield %[[T]] : f32
logitile.kernel @slope(%count: index from tokens, %kept: !logitile.view<?x32xf16, column_major> from @kept_z,
                       %grad: !logitile.view<?x32xbf16, column_major> from @grad_z) {
  scf.forall (%row, %column) = (0, 0) to (%count, 32) step (64, 32) {
    %z = logitile.load %kept at [%row, %column] : !logitile.view<?x32xf16, column_major> -> !logitile.tile<64x32xf32>
    %g = logitile.map(%z) : (!logitile.tile<64x32xf32>) -> !logitile.tile<64x32xf32> {
    ^bb0(%value: f32):
      %cap = arith.constant 0.03 : f32
      %inner = arith.mulf %value, %cap : f32
      %bounded = math.tanh %inner : f32
      logitile.yield %bounded : f32
    }
    logitile.store %g to %grad at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x32xbf16, column_major>
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) vocab_split 32 kept 32 {
    logitile.buffer @kept_z chunk kept of "z" : !logitile.view<?x32xf16, column_major>
  }
}
