// RUN: logitile-opt %s --logitile-centre-logits | FileCheck %s

// What is kept is the base of the exponential less its running maximum so far, which lies beside it.
// CHECK-LABEL: logitile.kernel @sweep(
// CHECK-SAME: %[[KEPT:[a-z0-9_]+]]: !logitile.view<?x256xf16, column_major> from @kept_z
// CHECK-SAME: %[[CENTRES:[a-z0-9_]+]]: !logitile.view<8x?xf32> from @centre_z
// CHECK: %[[BIAS:.*]] = logitile.load %{{.*}} : !logitile.view<256xf32> -> !logitile.tile<1x32xf32>
// CHECK: %[[NEXT:.*]] = logitile.update_rows
// CHECK: %[[NEAR:.*]] = logitile.map(%[[Z:.*]], %[[BIAS]], %[[NEXT]]) at %[[COLUMN:.*]] :
// CHECK-NEXT: ^bb0(%[[VALUE:.*]]: f32, %[[ADDED:.*]]: f32, %[[MAXIMUM:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[VALUE]], %[[ADDED]] : f32
// CHECK-NEXT: %[[DISTANCE:.*]] = arith.subf %[[X]], %[[MAXIMUM]] : f32
// CHECK-NEXT: %[[LEAST:.*]] = arith.constant -6.550400e+04 : f32
// CHECK-NEXT: %[[IS_LESS:.*]] = arith.cmpf olt, %[[DISTANCE]], %[[LEAST]] : f32
// CHECK-NEXT: %[[FINITE:.*]] = arith.select %[[IS_LESS]], %[[LEAST]], %[[DISTANCE]] : f32
// CHECK-NEXT: logitile.yield %[[FINITE]] : f32
// CHECK: %[[TILE:.*]] = arith.divui %[[COLUMN]], %c32{{.*}} : index
// CHECK: logitile.store %[[NEXT]] to %[[CENTRES]] at [%[[TILE]], %[[ROW:.*]]]
// CHECK: logitile.store %[[NEAR]] to %[[KEPT]] at [%[[ROW]], %[[COLUMN]]]
logitile.kernel @sweep(%count: index from tokens, %x: !logitile.view<?x16xf32> from @z_hidden, %w: !logitile.view<256x16xf32> from @z_weight,
                       %bias: !logitile.view<256xf32> from @bias, %kept: !logitile.view<?x256xf16, column_major> from @kept_z) {
  %zero = arith.constant 0 : index
  %step = arith.constant 32 : index
  %end = arith.constant 256 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %start = logitile.init_rows : !logitile.tile<64x1xf32> {
      %lowest = arith.constant 0xFF7FFFFF : f32
      logitile.yield %lowest : f32
    }
    %state = scf.for %column = %zero to %end step %step iter_args(%rows = %start) -> (!logitile.tile<64x1xf32>) {
      %z = logitile.project %x, %w at [%row, %column] by 16 using dot_products
          : !logitile.view<?x16xf32>, !logitile.view<256x16xf32> -> !logitile.tile<64x32xf32>
      logitile.store %z to %kept at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x256xf16, column_major>
      %in = logitile.load %bias at [%column] : !logitile.view<256xf32> -> !logitile.tile<1x32xf32>
      %next = logitile.update_rows(%rows) with (%z, %in) at %column below 256
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
      scf.yield %next : !logitile.tile<64x1xf32>
    }
  }
}

// Whoever made that base of logits takes it as it was kept; inputs are the same where their memory is.
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK-SAME: %[[CENTRES:[a-z0-9_]+]]: !logitile.view<8x?xf32> from @centre_z
// CHECK: %[[CENTRE:.*]] = logitile.load %[[CENTRES]] at [%{{.*}}, %{{.*}}] : !logitile.view<8x?xf32> -> !logitile.tile<64x1xf32>
// CHECK: %[[KEPT:.*]] = logitile.load %{{.*}} -> !logitile.tile<64x32xf32>
// CHECK: logitile.map(%{{.*}}, %{{.*}}, %[[KEPT]], %[[CENTRE]])
// CHECK-NEXT: ^bb0(%[[LSE:.*]]: f32, %{{.*}}: f32, %[[NEAR:.*]]: f32, %[[MIDDLE:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[NEAR]], %[[MIDDLE]] : f32
// CHECK-NEXT: %[[LOG_P:.*]] = arith.subf %[[X]], %[[LSE]] : f32
// CHECK-NEXT: logitile.yield %[[LOG_P]] : f32
logitile.kernel @gradient(%count: index from tokens, %kept: !logitile.view<?x256xf16, column_major> from @kept_z,
                          %lse: !logitile.view<?xf32> from @known_lse, %bias: !logitile.view<256xf32> from @bias,
                          %grad: !logitile.view<?x256xbf16, column_major> from @grad_z) {
  scf.forall (%row, %column) = (0, 0) to (%count, 256) step (64, 32) {
    %z = logitile.load %kept at [%row, %column] : !logitile.view<?x256xf16, column_major> -> !logitile.tile<64x32xf32>
    %known = logitile.load %lse at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    %in = logitile.load %bias at [%column] : !logitile.view<256xf32> -> !logitile.tile<1x32xf32>
    %g = logitile.map(%z, %known, %in)
        : (!logitile.tile<64x32xf32>, !logitile.tile<64x1xf32>, !logitile.tile<1x32xf32>) -> !logitile.tile<64x32xf32> {
    ^bb0(%value: f32, %sum: f32, %added: f32):
      %x = arith.addf %value, %added : f32
      %log_p = arith.subf %x, %sum : f32
      logitile.yield %log_p : f32
    }
    logitile.store %g to %grad at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x256xbf16, column_major>
  }
}

// The sums of a late sweep have the inputs of the gradient beside them. Logits that they do not read are not given to them.
// CHECK-LABEL: logitile.kernel @late(
// CHECK: logitile.update_rows(%{{.*}}) with(%[[BIAS:[a-z0-9_]+]]) at
// CHECK: bound {
// CHECK-NEXT: ^bb0(%{{.*}}: f32):
// CHECK: update {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
// CHECK: merge {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: f32):
logitile.kernel @late(%count: index from tokens, %kept: !logitile.view<?x256xf16, column_major> from @kept_z,
                      %bias: !logitile.view<256xf32> from @bias, %grad: !logitile.view<?x256xbf16, column_major> from @grad_z) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %rows = logitile.init_rows : !logitile.tile<64x1xf32> {
      %none = arith.constant 0.0 : f32
      logitile.yield %none : f32
    }
    %z = logitile.load %kept at [%row, %zero] : !logitile.view<?x256xf16, column_major> -> !logitile.tile<64x32xf32>
    %in = logitile.load %bias at [%zero] : !logitile.view<256xf32> -> !logitile.tile<1x32xf32>
    %next = logitile.update_rows(%rows) with (%z, %in) at %zero below 256
        : (!logitile.tile<64x1xf32>), (!logitile.tile<64x32xf32>, !logitile.tile<1x32xf32>) init {
      %none = arith.constant 0.0 : f32
      logitile.yield %none : f32
    } bound {
    ^bb0(%value: f32, %added: f32):
      logitile.yield
    } update {
    ^bb0(%s: f32, %value: f32, %added: f32):
      %sum = arith.addf %s, %added : f32
      logitile.yield %sum : f32
    } merge {
    ^bb0(%a: f32, %b: f32, %value: f32, %added: f32):
      %both = arith.addf %a, %b : f32
      logitile.yield %both : f32
    }
    %g = logitile.map(%z, %in) : (!logitile.tile<64x32xf32>, !logitile.tile<1x32xf32>) -> !logitile.tile<64x32xf32> {
    ^bb0(%value: f32, %added: f32):
      %x = arith.addf %value, %added : f32
      logitile.yield %x : f32
    }
    logitile.store %g to %grad at [%row, %zero] : !logitile.tile<64x32xf32> to !logitile.view<?x256xbf16, column_major>
  }
}

// Kernels that keep f32 stay as they are.
// CHECK-LABEL: logitile.kernel @exact(
// CHECK-NOT: centre
// CHECK-LABEL: logitile.program
logitile.kernel @exact(%count: index from tokens, %kept: !logitile.view<?x256xf32, column_major> from @kept_y) {
  scf.forall (%row) = (0) to (%count) step (64) {
    %z = logitile.load %kept at [%row, %row] : !logitile.view<?x256xf32, column_major> -> !logitile.tile<64x32xf32>
  }
}
logitile.program @p vocab 256 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) vocab_split 256 kept 256 {
    logitile.buffer @kept_z chunk kept of "z" : !logitile.view<?x256xf16, column_major>
    logitile.buffer @kept_y chunk kept of "y" : !logitile.view<?x256xf32, column_major>
    logitile.buffer @centre_z chunk centre of "z" : !logitile.view<8x?xf32>
  }
}
