// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["lse" : f32] {
    %lse = logitile.input token "lse" : f32
    logitile.yield %lse : f32
  }
  // CHECK: logitile.schedule
  logitile.schedule tokens [0, 16) vocab_split 300 stored 0 {
    // CHECK: logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xbf16>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x24xbf16>
    // CHECK-NEXT: logitile.buffer @gradient_z_hidden output hidden_gradient of "z" : !logitile.view<?x24xf32>
    logitile.buffer @gradient_z_hidden output hidden_gradient of "z" : !logitile.view<?x24xf32>
    // CHECK-NEXT: logitile.buffer @known_lse saved result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @known_lse saved result of @f[0] : !logitile.view<?xf32>
    // CHECK-NEXT: logitile.buffer @map call input of "map" : !logitile.view<?xi32>
    logitile.buffer @map call input of "map" : !logitile.view<?xi32>
    // CHECK-NEXT: logitile.buffer @stored_z chunk stored of "z" window 100 : !logitile.view<?x300xf32, column_major>
    logitile.buffer @stored_z chunk stored of "z" window 100 : !logitile.view<?x300xf32, column_major>
    // CHECK-NEXT: logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z window 100 : !logitile.view<?x300xbf16, column_major>
    logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z window 100 : !logitile.view<?x300xbf16, column_major>
    // CHECK-NEXT: logitile.buffer @blocks_bias chunk input_blocks of "bias" per 512 : !logitile.view<?x300xf32>
    logitile.buffer @blocks_bias chunk input_blocks of "bias" per 512 : !logitile.view<?x300xf32>
    // CHECK-NEXT: logitile.buffer @x call input of "x" {note} : !logitile.view<?xf32>
    logitile.buffer @x call input of "x" per 1 {note} : !logitile.view<?xf32>
  }
}
