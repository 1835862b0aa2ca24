// RUN: logitile-opt %s --convert-tiles-to-cpu | FileCheck %s --check-prefix=REQUEST
// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:portable | FileCheck %s --check-prefix=OPTION
// The instruction set is that of the module's request, unless the option names another.

// REQUEST: vector<8xf32>
// OPTION: vector<4xf32>
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1,
    workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {
  logitile.kernel @copy(%x: !logitile.view<8x8xf32> from @x, %out: !logitile.view<8x8xf32> from @out) {
    %zero = arith.constant 0 : index
    scf.forall (%row) = (0) to (8) step (4) {
      %tile = logitile.load %x at [%row, %zero] : !logitile.view<8x8xf32> -> !logitile.tile<4x8xf32>
      logitile.store %tile to %out at [%row, %zero] : !logitile.tile<4x8xf32> to !logitile.view<8x8xf32>
    }
  }
}
