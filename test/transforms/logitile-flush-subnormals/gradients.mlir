// RUN: logitile-opt %s --logitile-flush-subnormals=target=cpu:avx2 | FileCheck %s
// RUN: logitile-opt %s --logitile-flush-subnormals=target=cuda:sm_90 | FileCheck %s --check-prefix=FAST

// Who writes gradients of logits, and who reads them, counts subnormal numbers as zero. Others do
// not.
// CHECK: logitile.kernel @makes(%{{.*}}) attributes {flushes_subnormals} {
// CHECK: logitile.kernel @multiplies(%{{.*}}) attributes {flushes_subnormals} {
// CHECK: logitile.kernel @other(%{{.*}} from @packed) {
// FAST-NOT: flushes_subnormals
logitile.kernel @makes(%count: index from tokens, %z: !logitile.view<?x32xf32, column_major> from @stored_z,
                       %grad: !logitile.view<?x32xf32, column_major> from @grad_z) {
  scf.forall (%row, %column) = (0, 0) to (%count, 32) step (64, 32) {
    %tile = logitile.load %z at [%row, %column] : !logitile.view<?x32xf32, column_major> -> !logitile.tile<64x32xf32>
    logitile.store %tile to %grad at [%row, %column] : !logitile.tile<64x32xf32> to !logitile.view<?x32xf32, column_major>
  }
}
logitile.kernel @multiplies(%count: index from tokens, %grad: !logitile.view<?x32xf32, column_major> from @grad_z,
                            %w: !logitile.view<32x16xf32> from @z_weight, %to: !logitile.view<?x16xf32> from @gradient_z_hidden) {
  %zero = arith.constant 0 : index
  %end = arith.constant 32 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %sum = logitile.contract %grad, %w at [%row, %zero] over [%zero to %end] by 32 using panels
        : !logitile.view<?x32xf32, column_major>, !logitile.view<32x16xf32> -> !logitile.tile<64x16xf32>
    logitile.store %sum to %to at [%row, %zero] : !logitile.tile<64x16xf32> to !logitile.view<?x16xf32>
  }
}
logitile.kernel @other(%count: index from tokens, %x: !logitile.view<?x16xf32> from @z_hidden, %to: !logitile.view<?x16xf32> from @packed) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row, %zero] : !logitile.view<?x16xf32> -> !logitile.tile<64x16xf32>
    logitile.store %tile to %to at [%row, %zero] : !logitile.tile<64x16xf32> to !logitile.view<?x16xf32>
  }
}
logitile.program @p vocab 32 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 64) vocab_split 32 stored 32 {
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x32xf32, column_major>
    logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x32xf32, column_major>
  }
}
