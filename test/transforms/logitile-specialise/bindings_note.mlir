// RUN: not logitile-opt --logitile-specialise --mlir-print-op-on-diagnostic=false %s 2>&1 | FileCheck %s

// The launch is blamed, and the skeleton is shown.
// CHECK: bindings_note.mlir:[[@LINE+4]]:7: error: 'logitile.launch' op leaves parameter 'TD' without a value
// CHECK: templates/round.mlir:{{[0-9]+}}:1: note: template '@round' is here
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 { logitile.run forward {
      logitile.launch "k" from @round<TN = 64, D = 24, in = f32, tile = f32, out = f32>
    }
  }
}
