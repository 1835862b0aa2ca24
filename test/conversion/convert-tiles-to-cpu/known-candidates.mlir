// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 --split-input-file | FileCheck %s
// The candidate of each entry is computed for the running maximum. If that takes an elementary
// function, the update loads the stored candidate instead of computing the function once more.

// CHECK-LABEL: func.func @capped(
// CHECK: scf.for
// CHECK: %[[TANH:.*]] = math.tanh
// CHECK: llvm.store %[[TANH]], %{{.*}} : vector<16xf32>, !llvm.ptr
// CHECK: scf.for
// CHECK: %[[KNOWN:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xf32>
// CHECK: %[[X:.*]] = arith.subf %[[KNOWN]], %{{.*}} : vector<16xf32>
// CHECK: math.exp %[[X]]
// CHECK-NOT: math.tanh
logitile.kernel @capped(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z,
                        %max: !logitile.view<1x?xf32> from @max, %sum: !logitile.view<1x?xf32> from @sum) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %start:2 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
      %least = arith.constant -1.0 : f32
      %none = arith.constant 0.0 : f32
      logitile.yield %least, %none : f32, f32
    }
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %next:2 = logitile.update_state(%start#0, %start#1) with(%tile) at %zero below 8
        : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x8xf32>) init {
      %least = arith.constant -1.0 : f32
      %none = arith.constant 0.0 : f32
      logitile.yield %least, %none : f32, f32
    } candidate {
    ^bb0(%x: f32):
      %c = math.tanh %x : f32
      logitile.yield %c : f32
    } update {
    ^bb0(%m: f32, %s: f32, %x: f32):
      %c = math.tanh %x : f32
      %d = arith.subf %c, %m : f32
      %e = math.exp %d : f32
      %t = arith.addf %s, %e : f32
      logitile.yield %m, %t : f32, f32
    } merge {
    ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32, %x: f32):
      %t = arith.addf %sa, %sb : f32
      logitile.yield %ma, %t : f32, f32
    }
    logitile.store %next#0 to %max at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    logitile.store %next#1 to %sum at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
  }
}

// -----

// A product is as fast as memory, and another function is another value.
// CHECK-LABEL: func.func @scaled(
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK-NOT: llvm.store
// CHECK: math.tanh
// CHECK-NOT: llvm.store
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK: math.log1p
logitile.kernel @scaled(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z,
                        %max: !logitile.view<1x?xf32> from @max, %sum: !logitile.view<1x?xf32> from @sum, %more: !logitile.view<1x?xf32> from @more) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %start:3 = logitile.init_state : !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32> {
      %least = arith.constant -1.0 : f32
      %none = arith.constant 0.0 : f32
      logitile.yield %least, %least, %none : f32, f32, f32
    }
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    %next:3 = logitile.update_state(%start#0, %start#1, %start#2) with(%tile) at %zero below 8
        : (!logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>, !logitile.tile<64x1xf32>), (!logitile.tile<64x8xf32>) init {
      %least = arith.constant -1.0 : f32
      %none = arith.constant 0.0 : f32
      logitile.yield %least, %least, %none : f32, f32, f32
    } candidate {
    ^bb0(%x: f32):
      %two = arith.constant 2.0 : f32
      %p = arith.mulf %x, %two : f32
      %a = math.absf %x : f32
      %c = math.tanh %a : f32
      logitile.yield %p, %c : f32, f32
    } update {
    ^bb0(%m: f32, %o: f32, %s: f32, %x: f32):
      %two = arith.constant 2.0 : f32
      %p = arith.mulf %x, %two : f32
      %c = math.log1p %x : f32
      %d = arith.subf %p, %m : f32
      %e = arith.addf %d, %c : f32
      %t = arith.addf %s, %e : f32
      logitile.yield %m, %o, %t : f32, f32, f32
    } merge {
    ^bb0(%ma: f32, %oa: f32, %sa: f32, %mb: f32, %ob: f32, %sb: f32, %x: f32):
      %t = arith.addf %sa, %sb : f32
      logitile.yield %ma, %oa, %t : f32, f32, f32
    }
    logitile.store %next#0 to %max at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    logitile.store %next#1 to %more at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
    logitile.store %next#2 to %sum at [%zero, %row] : !logitile.tile<64x1xf32> to !logitile.view<1x?xf32>
  }
}
