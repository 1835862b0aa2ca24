// RUN: not logitile-opt --logitile-specialise --mlir-print-op-on-diagnostic=false %s 2>&1 | FileCheck %s

// The launch is blamed, and the skeleton is shown.
// CHECK: bindings_note.mlir:[[@LINE+4]]:7: error: 'logitile.launch' op leaves parameter 'TD' without a value
// CHECK: templates/round_weight.mlir:{{[0-9]+}}:1: note: template '@round_weight' is here
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) slab 100 kept 0 { logitile.run forward {
      logitile.launch "k" from @round_weight<TN = 64, D = 24, acc = f32, out = f32>
    }
  }
}
