// RUN: logitile-opt %s --logitile-centre-logits --split-input-file | FileCheck %s

// Where the maximum is of the logits themselves, the row state has the centre: it is stored, and the logits less it, clamped.
// CHECK-LABEL: logitile.kernel @sweep(
// CHECK-SAME: %[[KEPT:[a-z0-9_]+]]: !logitile.view<?x256xf16, column_major> from "kept.z"
// CHECK-SAME: %[[CENTRES:[a-z0-9_]+]]: !logitile.view<8x?xf32> from "centre.z"
// CHECK: %[[NEXT:.*]] = logitile.update_rows
// CHECK-NOT: logitile.update_rows
// CHECK: %[[NEAR:.*]] = logitile.map(%[[Z:.*]], %[[NEXT]])
// CHECK: %[[DISTANCE:.*]] = arith.subf
// CHECK: arith.cmpf ogt, %[[DISTANCE]], %[[MOST:.*]] : f32
// CHECK: arith.cmpf olt, %{{.*}}, %[[LEAST:.*]] : f32
// CHECK: %[[TILE:.*]] = arith.divui %[[COLUMN:.*]], %c32{{.*}} : index
// CHECK: logitile.store %[[NEXT]] to %[[CENTRES]] at [%[[TILE]], %[[ROW:.*]]]
// CHECK: logitile.store %[[NEAR]] to %[[KEPT]] at [%[[ROW]], %[[COLUMN]]]
logitile.kernel @sweep(%count: index from "tokens", %x: !logitile.view<?x16xf32> from "z.hidden", %w: !logitile.view<256x16xf32> from "z.weight",
                       %kept: !logitile.view<?x256xf16, column_major> from "kept.z") {
  %zero = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 256 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %start = logitile.init_rows : !logitile.tile<64x1xf32> {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    }
    %state = scf.for %column = %zero to %end step %step iter_args(%rows = %start) -> (!logitile.tile<64x1xf32>) {
      %z = logitile.project %x, %w at [%row, %column] by 16
          : !logitile.view<?x16xf32>, !logitile.view<256x16xf32> -> !logitile.tile<64x32xf32>
      logitile.store %z to %kept at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x256xf16, column_major>
      %next = logitile.update_rows(%rows) with (%z) at %column below 256 : (!logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>) init {
        %lowest = arith.constant 0xFF7FFFFF : f32
        logitile.yield %lowest : f32
      } bound {
      ^bb0(%value: f32):
        logitile.yield %value : f32
      } update {
      ^bb0(%m: f32, %value: f32):
        logitile.yield %m : f32
      } merge {
      ^bb0(%a: f32, %b: f32, %value: f32):
        %both = arith.maxnumf %a, %b : f32
        logitile.yield %both : f32
      }
      scf.yield %next : !logitile.tile<64x1xf32>
    }
  }
}

// Whoever reads logits adds their centre.
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK-SAME: %[[CENTRES:[a-z0-9_]+]]: !logitile.view<8x?xf32> from "centre.z"
// CHECK: %[[CENTRE:.*]] = logitile.load %[[CENTRES]] at [%{{.*}}, %{{.*}}] : !logitile.view<8x?xf32> -> !logitile.tile<64x1xf32>
// CHECK: logitile.map(%{{.*}}, %{{.*}}, %[[CENTRE]])
// CHECK-NEXT: ^bb0(%[[NEAR:.*]]: f32, %[[LSE:.*]]: f32, %[[MIDDLE:.*]]: f32):
// CHECK-NEXT: %[[Z:.*]] = arith.addf %[[NEAR]], %[[MIDDLE]] : f32
// CHECK-NEXT: arith.subf %[[Z]], %[[LSE]] : f32
logitile.kernel @gradient(%count: index from "tokens", %kept: !logitile.view<?x256xf16, column_major> from "kept.z",
                          %lse: !logitile.view<?xf32> from "known.lse", %grad: !logitile.view<?x256xbf16, column_major> from "grad.z") {
  scf.forall (%row, %column) = (0, 0) to (%count, 256) step (64, 32) {
    %z = logitile.load %kept at [%row, %column] : !logitile.view<?x256xf16, column_major> -> !logitile.tile<64x32xf32>
    %known = logitile.load %lse at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    %g = logitile.map(%z, %known) : (!logitile.tile<64x32xf32>, !logitile.tile<64x1xf32>) -> !logitile.tile<64x32xf32> {
    ^bb0(%value: f32, %sum: f32):
      %log_p = arith.subf %value, %sum : f32
      logitile.yield %log_p : f32
    }
    logitile.store %g to %grad at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x256xbf16, column_major>
  }
}

// Kernels that keep f32 stay as they are.
// CHECK-LABEL: logitile.kernel @exact(
// CHECK-NOT: centre
// CHECK-LABEL: logitile.program
logitile.kernel @exact(%count: index from "tokens", %kept: !logitile.view<?x256xf32, column_major> from "kept.z") {
  scf.forall (%row) = (0) to (%count) step (64) {
    %z = logitile.load %kept at [%row, %row] : !logitile.view<?x256xf32, column_major> -> !logitile.tile<64x32xf32>
  }
}
logitile.program @p vocab 256 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) slab 256 kept 256 {
    logitile.buffer "kept.z" chunk : !logitile.view<?x256xf16, column_major>
    logitile.buffer "centre.z" chunk : !logitile.view<8x?xf32>
  }
}

// -----

// Where the exponent is something else, the centre is the logit at its maximum: one that is masked does not count.
// CHECK-LABEL: logitile.kernel @masked(
// CHECK: logitile.update_rows
// CHECK: %[[BEST:.*]]:2 = logitile.update_rows(%{{.*}}) with(%{{.*}}, %{{.*}}) at %{{.*}} below 32
// CHECK: } bound {
// CHECK-NEXT: ^bb0(%[[VALUE:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[VALUE]], %[[BIAS]] : f32
// CHECK-NEXT: logitile.yield %[[X]] : f32
// CHECK: } update {
// CHECK-NEXT: ^bb0(%[[M:.*]]: f32, %[[AT:.*]]: f32, %[[VALUE:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[VALUE]], %[[BIAS]] : f32
// CHECK-NEXT: %[[IS:.*]] = arith.cmpf oeq, %[[X]], %[[M]] : f32
// CHECK-NEXT: %[[LOGIT:.*]] = arith.select %[[IS]], %[[VALUE]], %[[AT]] : f32
// CHECK-NEXT: logitile.yield %[[M]], %[[LOGIT]] : f32, f32
// CHECK: } merge {
// CHECK: logitile.map(%{{.*}}, %[[BEST]]#1)
// CHECK: logitile.store %[[BEST]]#1 to
logitile.kernel @masked(%count: index from "tokens", %x: !logitile.view<?x16xf32> from "z.hidden", %w: !logitile.view<32x16xf32> from "z.weight",
                        %mask: !logitile.view<32xf32> from "mask", %kept: !logitile.view<?x32xf16, column_major> from "kept.z") {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %rows = logitile.init_rows : !logitile.tile<64x1xf32> {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    }
    %z = logitile.project %x, %w at [%row, %zero] by 16 : !logitile.view<?x16xf32>, !logitile.view<32x16xf32> -> !logitile.tile<64x32xf32>
    logitile.store %z to %kept at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf16, column_major>
    %bias = logitile.load %mask at [%zero] : !logitile.view<32xf32> -> !logitile.tile<1x32xf32>
    %next = logitile.update_rows(%rows) with (%z, %bias) at %zero below 32
        : (!logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>, !logitile.tile<1x32xf32>) init {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    } bound {
    ^bb0(%value: f32, %added: f32):
      %sum = arith.addf %value, %added : f32
      logitile.yield %sum : f32
    } update {
    ^bb0(%m: f32, %value: f32, %added: f32):
      logitile.yield %m : f32
    } merge {
    ^bb0(%a: f32, %b: f32, %value: f32, %added: f32):
      %both = arith.maxnumf %a, %b : f32
      logitile.yield %both : f32
    }
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) slab 32 kept 32 {
    logitile.buffer "kept.z" chunk : !logitile.view<?x32xf16, column_major>
    logitile.buffer "centre.z" chunk : !logitile.view<1x?xf32>
  }
}
