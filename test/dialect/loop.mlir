// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 1 stored 0 {
    logitile.run forward {
      // CHECK: logitile.loop tokens 512 {
      logitile.loop tokens 512 {
        // CHECK-NEXT: logitile.loop vocab_splits 2 from 3 to 5 attributes {note} {
        logitile.loop vocab_splits 2 from 3 to 5 attributes {note} {
          // CHECK-NEXT: logitile.launch "one" from @pack<>
          logitile.launch "one" from @pack<>
        }
      }
      // CHECK: logitile.loop tokens -4 {
      logitile.loop tokens -4 {
      }
      // CHECK: logitile.loop vocab_splits 1 from 0 to 5 {
      logitile.loop vocab_splits 1 from 0 to 5 {
      }
    }
  }
}
