// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // CHECK: logitile.run forward attributes {note} {
    // CHECK-NEXT: logitile.launch "one" from @pack<>
    // CHECK-NEXT: logitile.loop tokens 4 {
    logitile.run forward attributes {note} {
      logitile.launch "one" from @pack<>
      logitile.loop tokens 4 {
      }
    }
    // CHECK: logitile.run backward {
    // CHECK-NEXT: }
    logitile.run backward {
    }
  }
}
