// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) slab 300 kept 0 {
    // CHECK: logitile.buffer "z.hidden" input : !logitile.view<?x24xbf16>
    logitile.buffer "z.hidden" input : !logitile.view<?x24xbf16>
    // CHECK-NEXT: logitile.buffer "gradient.z.hidden" output : !logitile.view<?x24xf32>
    logitile.buffer "gradient.z.hidden" output : !logitile.view<?x24xf32>
    // CHECK-NEXT: logitile.buffer "known.lse" saved : !logitile.view<?xf32>
    logitile.buffer "known.lse" saved : !logitile.view<?xf32>
    // CHECK-NEXT: logitile.buffer "map" call : !logitile.view<?xi32>
    logitile.buffer "map" call : !logitile.view<?xi32>
    // CHECK-NEXT: logitile.buffer "kept.z" chunk window 100 : !logitile.view<?x300xf32, column_major>
    logitile.buffer "kept.z" chunk window 100 : !logitile.view<?x300xf32, column_major>
    // CHECK-NEXT: logitile.buffer "grad.z" chunk alias "kept.z" window 100 : !logitile.view<?x300xbf16, column_major>
    logitile.buffer "grad.z" chunk alias "kept.z" window 100 : !logitile.view<?x300xbf16, column_major>
    // CHECK-NEXT: logitile.buffer "blocks.bias" chunk per 512 : !logitile.view<?x300xf32>
    logitile.buffer "blocks.bias" chunk per 512 : !logitile.view<?x300xf32>
    // CHECK-NEXT: logitile.buffer "x" call {note} : !logitile.view<?xf32>
    logitile.buffer "x" call per 1 {note} : !logitile.view<?xf32>
  }
}
