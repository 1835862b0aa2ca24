// RUN: logitile-opt %s --convert-tiles-to-cuda | FileCheck %s
// In the workspace rows begin at multiples of 16 bytes and are padded to them. There a thread reads
// and writes eight neighbours of 16 bits at once, in the place where they were, and at the end of a
// row its padding too. A thread of a kernel without products has such neighbours. Rows of the
// caller's memory may begin anywhere: their elements are read one by one. They are written at once
// where the kernel finds, when it runs, that all rows begin at multiples of what is written. Rows
// of 125 elements never do. A thread has four rows. Those of a whole tile are stored without a
// loop, which would move all values in each turn.

// CHECK-LABEL: llvm.func @in_place(
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: scf.if
// CHECK: arith.cmpi ult, %{{.*}}, %c104{{.*}} : i64
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK: } else {
// CHECK-NOT: scf.for
// CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return

// CHECK-LABEL: llvm.func @from_caller(
// CHECK-COUNT-16: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK-NOT: llvm.load {{.*}} vector
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>

// CHECK-LABEL: llvm.func @to_caller(
// CHECK: llvm.ptrtoint
// CHECK: %[[ALIGNED:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK: scf.if %[[ALIGNED]] {
// CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK: } else {
// CHECK-COUNT-8: llvm.store %{{.*}}, %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>
// CHECK: llvm.return

// CHECK-LABEL: llvm.func @to_odd_rows(
// CHECK-NOT: vector<
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = bf16>], dense = {}, gradients = [], mode = forward,
    tokens = 128, workspace = 1, chunks = 0, accumulate = false, target = "cuda:sm_80", threads = 1>} {
  logitile.kernel @in_place(%n: index from tokens, %z: !logitile.view<?x100xbf16> from @stored, %g: !logitile.view<?x100xbf16> from @grad)
      attributes {aliases = {grad = @stored}} {
    scf.forall (%row, %column) = (0, 0) to (%n, 100) step (64, 64) {
      %tile = logitile.load %z at [%row, %column] : !logitile.view<?x100xbf16> -> !logitile.tile<64x64xf32>
      %next = logitile.map(%tile) : (!logitile.tile<64x64xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%value: f32):
        %sum = arith.addf %value, %value : f32
        logitile.yield %sum : f32
      }
      logitile.store %next to %g at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x100xbf16>
    }
  }
  logitile.kernel @from_caller(%n: index from tokens, %x: !logitile.view<?x128xf32> from @given, %out: !logitile.view<?x128xf32> from @sum) {
    scf.forall (%row, %column) = (0, 0) to (%n, 128) step (64, 64) {
      %tile = logitile.load %x at [%row, %column] : !logitile.view<?x128xf32> -> !logitile.tile<64x64xf32>
      %next = logitile.map(%tile) : (!logitile.tile<64x64xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%value: f32):
        %sum = arith.addf %value, %value : f32
        logitile.yield %sum : f32
      }
      logitile.store %next to %out at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x128xf32>
    }
  }
  logitile.kernel @to_caller(%n: index from tokens, %x: !logitile.view<?x128xbf16> from @given, %out: !logitile.view<?x128xbf16> from @taken) {
    scf.forall (%row, %column) = (0, 0) to (%n, 128) step (64, 64) {
      %tile = logitile.load %x at [%row, %column] : !logitile.view<?x128xbf16> -> !logitile.tile<64x64xf32>
      %next = logitile.map(%tile) : (!logitile.tile<64x64xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%value: f32):
        %sum = arith.addf %value, %value : f32
        logitile.yield %sum : f32
      }
      logitile.store %next to %out at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x128xbf16>
    }
  }
  logitile.kernel @to_odd_rows(%n: index from tokens, %x: !logitile.view<?x125xbf16> from @given, %out: !logitile.view<?x125xbf16> from @taken) {
    scf.forall (%row, %column) = (0, 0) to (%n, 125) step (64, 64) {
      %tile = logitile.load %x at [%row, %column] : !logitile.view<?x125xbf16> -> !logitile.tile<64x64xf32>
      %next = logitile.map(%tile) : (!logitile.tile<64x64xf32>) -> !logitile.tile<64x64xf32> {
      ^bb0(%value: f32):
        %sum = arith.addf %value, %value : f32
        logitile.yield %sum : f32
      }
      logitile.store %next to %out at [%row, %column] : !logitile.tile<64x64xf32> to !logitile.view<?x125xbf16>
    }
  }
  logitile.program @p vocab 100 outputs [] indices [] checked [] {
    logitile.schedule tokens [0, 64) vocab_split 64 stored 64 {
      logitile.buffer @stored chunk stored of "z" : !logitile.view<?x100xbf16>
      logitile.buffer @grad chunk logit_gradient of "z" alias @stored : !logitile.view<?x100xbf16>
      logitile.buffer @sum chunk hidden_sum of "z" : !logitile.view<?x128xf32>
      logitile.buffer @given input input of "x" : !logitile.view<?x128xf32>
    }
  }
}
