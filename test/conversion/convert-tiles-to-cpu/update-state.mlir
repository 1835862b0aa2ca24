// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// For a group of tokens: the tile's maximum over its lines, the sum under it, then one merge with
// the running state.

// CHECK-LABEL: func.func @sweep(
// CHECK: %[[MAX:.*]] = scf.for %{{.*}} iter_args(%[[OLD:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:   %[[Z:.*]] = llvm.load
// CHECK:   %[[GT:.*]] = arith.cmpf ogt, %[[Z]], %[[OLD]] : vector<16xf32>
// CHECK:   %[[NEW:.*]] = arith.select %[[GT]], %[[Z]], %[[OLD]] : vector<16xi1>, vector<16xf32>
// CHECK:   scf.yield %[[NEW]] : vector<16xf32>
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:   %[[X:.*]] = llvm.load
// CHECK:   %[[D:.*]] = arith.subf %[[X]], %[[MAX]] : vector<16xf32>
// CHECK:   %[[E:.*]] = math.exp %[[D]] : vector<16xf32>
// CHECK:   %[[NEXT:.*]] = arith.addf %[[SO_FAR]], %[[E]] : vector<16xf32>
// CHECK:   scf.yield %[[NEXT]] : vector<16xf32>
// CHECK: %[[RUNNING_MAX:.*]] = llvm.load
// CHECK: %[[RUNNING_SUM:.*]] = llvm.load
// CHECK: arith.cmpf ogt, %[[MAX]], %[[RUNNING_MAX]] : vector<16xf32>
// CHECK: arith.addf %[[RUNNING_SUM]], %[[SUM]] : vector<16xf32>
// CHECK-COUNT-2: llvm.store
logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %pm: !logitile.view<1x?xf32> from @m, %ps: !logitile.view<1x?xf32> from @s) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %start:2 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
      %low = arith.constant 0xFF7FFFFF : f32
      %c0 = arith.constant 0.0 : f32
      logitile.yield %low, %c0 : f32, f32
    }
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %state:2 = logitile.update_state(%start#0, %start#1) with (%tile) at %zero below 8 : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x8xf32>) init {
      %low = arith.constant 0xFF7FFFFF : f32
      %c0 = arith.constant 0.0 : f32
      logitile.yield %low, %c0 : f32, f32
    } candidate {
    ^bb0(%x: f32):
      logitile.yield %x : f32
    } update {
    ^bb0(%m: f32, %s: f32, %x: f32):
      %d = arith.subf %x, %m : f32
      %e = math.exp %d : f32
      %next = arith.addf %s, %e : f32
      logitile.yield %m, %next : f32, f32
    } merge {
    ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32, %x: f32):
      %gt = arith.cmpf ogt, %mb, %ma : f32
      %m = arith.select %gt, %mb, %ma : f32
      %s = arith.addf %sa, %sb : f32
      logitile.yield %m, %s : f32, f32
    }
    logitile.store %state#0 to %pm at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    logitile.store %state#1 to %ps at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
  }
}
