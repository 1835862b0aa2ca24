// RUN: %specialise %s | FileCheck %s

// What a program does not have vanishes, with the ops on it: no sweep, so no rows, no state of the
// loop and no store of it.
// CHECK-LABEL: logitile.kernel @project(%tokens: index from tokens) {
// CHECK: scf.forall
// CHECK: scf.for %column = %first to %end step %tn {
// CHECK-NEXT: %tile = arith.divui %column, %tn : index
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }

// A gradient without sparse terms, without Vocab and Dense inputs and without fused sums only
// stores itself.
// CHECK-LABEL: logitile.kernel @gradient(%tokens: index from tokens, %tokens_map: !logitile.view<?xi32> from @tokens_map, %stored_z: !logitile.view<?x300xf32> from @stored_z,
// CHECK-SAME: %grad_z: !logitile.view<?x300xf32> from @grad_z) attributes {aliases = {grad_z = @stored_z}} {
// CHECK: scf.for %column = %first to %end step %tn {
// CHECK-NEXT: %tile = arith.divui %column, %centreColumns : index
// CHECK-NEXT: %z = logitile.load %stored_z at [%row, %column]
// CHECK-NEXT: %g = logitile.map(%z) at %column
// CHECK: logitile.store %g to %grad_z at [%row, %column]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }

// A contraction whose gradient holds its sparse terms itself has no terms.
// CHECK-LABEL: logitile.kernel @hidden(
// CHECK: %sum = logitile.contract
// CHECK-NEXT: logitile.store %sum to %gradient_z_hidden
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    logitile.adjoint logits "z" dense %z
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<300x24xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x300xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x300xf32>
    logitile.buffer @gradient_z_hidden output hidden_gradient of "z" : !logitile.view<?x24xf32>
    logitile.run forward {
      logitile.launch "project" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> using panels
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
      logitile.launch "hidden" from @contract_hidden<TM = 64, TD = 8, TK = 16, D = 24, in = f32, g = f32, out = f32, acc = f32> using panels
          input "z" views {grad = @grad_z, weight = @z_weight, out = @gradient_z_hidden}
    }
  }
}
