// RUN: %specialise %s | FileCheck %s

// One kernel for each launch, in the order of the schedule, before the program, which stays.
// CHECK: module @m attributes {logitile.request = #logitile.request<
// CHECK-NEXT: logitile.kernel @first(
// CHECK: logitile.kernel @second(
// CHECK: logitile.kernel @third(
// CHECK: logitile.program @p
// CHECK: logitile.launch "first" from @round
// CHECK: logitile.kernel @other(
// CHECK: logitile.program @q
// CHECK-NOT: logitile.kernel
module @m attributes {logitile.request = #logitile.request<
    projections = [<"z", hidden = 24, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 40,
    workspace = 1024, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 2>} {
  logitile.program @p vocab 300 outputs [] indices [] checked [] {
    logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
      logitile.buffer @sum call input of "sum" : !logitile.view<300x24xf32>
      logitile.buffer @out output input of "out" : !logitile.view<300x24xbf16>
      logitile.run forward {
        logitile.launch "first" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = bf16> views {source = @sum, out = @out}
        logitile.loop tokens 4 {
          logitile.launch "second" from @round<TN = 32, TD = 8, D = 24, in = f32, tile = f32, out = bf16> views {source = @sum, out = @out}
        }
      }
      logitile.run backward {
        logitile.launch "third" from @round<TN = 16, TD = 8, D = 24, in = f32, tile = f32, out = bf16> views {source = @sum, out = @out}
      }
    }
  }
  logitile.program @q vocab 30 outputs [] indices [] checked [] {
    logitile.schedule tokens [0, 4096) vocab_split 10 stored 0 {
      logitile.buffer @sum call input of "sum" : !logitile.view<30x8xf32>
      logitile.run forward {
        logitile.launch "other" from @round<TN = 2, TD = 8, D = 8, in = f32, tile = f32, out = f32> views {source = @sum, out = @sum}
      }
    }
  }
}
