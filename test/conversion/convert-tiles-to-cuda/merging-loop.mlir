// RUN: logitile-opt %s --convert-tiles-to-cuda --canonicalize --cse | FileCheck %s

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  // Eight threads share a row. Each merges every eighth state, in eight turns that all of them
  // take; the first two merge one more. Seven leave what they have in shared memory, and the first
  // merges that in order.
  // CHECK-LABEL: llvm.func @many(
  // CHECK-SAME: logitile.shared_bytes = 896 : i64, logitile.threads = 256 : i64
  // CHECK: %[[PART:.*]] = arith.divui %{{.*}}, %c32_i64 : i64
  // CHECK: %[[MINE:.*]] = scf.for %[[TURN:.*]] = %c0_i64 to %c8_i64 step %c1_i64 iter_args(
  // CHECK: %[[EIGHTH:.*]] = arith.muli %[[TURN]], %c8_i64
  // CHECK: arith.addi %[[EIGHTH]], %[[PART]]
  // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> f32
  // CHECK: arith.addf
  // CHECK: %[[HAS_MORE:.*]] = arith.cmpi ult, %[[PART]], %c2_i64 : i64
  // CHECK: %[[ALL:.*]] = scf.if %[[HAS_MORE]] -> (f32) {
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[MINE]] : f32
  // CHECK: nvvm.barrier0
  // CHECK: llvm.store %[[ALL]], %{{.*}} : f32, !llvm.ptr<3>
  // CHECK: nvvm.barrier0
  // CHECK: scf.if %{{.*}} -> (f32) {
  // CHECK-NEXT: scf.for %{{.*}} = %c0_i64 to %c7_i64 step %c1_i64 iter_args(%{{.*}} = %[[ALL]])
  // CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
  // CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
  logitile.kernel @many(%n: index from tokens, %state: !logitile.view<66x?xf32> from @state, %out: !logitile.view<?xf32> from @out) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %splits = arith.constant 66 : index
    scf.forall (%row) = (0) to (%n) step (32) {
      %start = logitile.init_state : !logitile.tile<32x1xf32> {
        %empty = arith.constant 0.0 : f32
        logitile.yield %empty : f32
      }
      %all = scf.for %split = %zero to %splits step %one iter_args(%running = %start) -> (!logitile.tile<32x1xf32>) {
        %other = logitile.load %state at [%split, %row] : !logitile.view<66x?xf32> -> !logitile.tile<32x1xf32>
        %both = logitile.map(%running, %other) merges : (!logitile.tile<32x1xf32>, !logitile.tile<32x1xf32>) -> !logitile.tile<32x1xf32> {
        ^bb0(%a: f32, %b: f32):
          %sum = arith.addf %a, %b : f32
          logitile.yield %sum : f32
        }
        scf.yield %both : !logitile.tile<32x1xf32>
      }
      logitile.store %all to %out at [%row] : !logitile.tile<32x1xf32> to !logitile.view<?xf32>
    }
  }

  // A few states are merged by one thread; so is what does not merge.
  // CHECK-LABEL: llvm.func @few(
  // CHECK-SAME: logitile.threads = 32 : i64
  // CHECK-NOT: nvvm.barrier0
  // CHECK-LABEL: llvm.func @other(
  // CHECK-SAME: logitile.threads = 32 : i64
  logitile.kernel @few(%n: index from tokens, %state: !logitile.view<7x?xf32> from @state, %out: !logitile.view<?xf32> from @out) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %splits = arith.constant 7 : index
    scf.forall (%row) = (0) to (%n) step (32) {
      %start = logitile.init_state : !logitile.tile<32x1xf32> {
        %empty = arith.constant 0.0 : f32
        logitile.yield %empty : f32
      }
      %all = scf.for %split = %zero to %splits step %one iter_args(%running = %start) -> (!logitile.tile<32x1xf32>) {
        %other = logitile.load %state at [%split, %row] : !logitile.view<7x?xf32> -> !logitile.tile<32x1xf32>
        %both = logitile.map(%running, %other) merges : (!logitile.tile<32x1xf32>, !logitile.tile<32x1xf32>) -> !logitile.tile<32x1xf32> {
        ^bb0(%a: f32, %b: f32):
          %sum = arith.addf %a, %b : f32
          logitile.yield %sum : f32
        }
        scf.yield %both : !logitile.tile<32x1xf32>
      }
      logitile.store %all to %out at [%row] : !logitile.tile<32x1xf32> to !logitile.view<?xf32>
    }
  }
  logitile.kernel @other(%n: index from tokens, %state: !logitile.view<66x?xf32> from @state, %out: !logitile.view<?xf32> from @out) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %splits = arith.constant 66 : index
    scf.forall (%row) = (0) to (%n) step (32) {
      %start = logitile.init_state : !logitile.tile<32x1xf32> {
        %empty = arith.constant 0.0 : f32
        logitile.yield %empty : f32
      }
      %all = scf.for %split = %zero to %splits step %one iter_args(%running = %start) -> (!logitile.tile<32x1xf32>) {
        %other = logitile.load %state at [%split, %row] : !logitile.view<66x?xf32> -> !logitile.tile<32x1xf32>
        %both = logitile.map(%running, %other) : (!logitile.tile<32x1xf32>, !logitile.tile<32x1xf32>) -> !logitile.tile<32x1xf32> {
        ^bb0(%a: f32, %b: f32):
          %less = arith.subf %b, %a : f32
          logitile.yield %less : f32
        }
        scf.yield %both : !logitile.tile<32x1xf32>
      }
      logitile.store %all to %out at [%row] : !logitile.tile<32x1xf32> to !logitile.view<?xf32>
    }
  }
}
