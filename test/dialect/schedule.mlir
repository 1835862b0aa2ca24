// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // CHECK-NEXT: logitile.schedule tokens [16, 4096) vocab_split 2 stored 5 attributes {note} {
  logitile.schedule tokens [16, 4096) vocab_split 2 stored 5 attributes {note} {
    // CHECK-NEXT: logitile.buffer @x call input of "x" : !logitile.view<?xf32>
    logitile.buffer @x call input of "x" : !logitile.view<?xf32>
    // CHECK-NEXT: logitile.run prologue {
    // CHECK-NEXT: }
    logitile.run prologue {
    }
    // CHECK-NEXT: logitile.run forward {
    // CHECK-NEXT: }
    logitile.run forward {
    }
    // CHECK-NEXT: logitile.run backward {
    // CHECK-NEXT: }
    logitile.run backward {
    }
  }
}
