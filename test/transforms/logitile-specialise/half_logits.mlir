// RUN: %specialise --canonicalize %s | FileCheck %s

// Of logits in 16 bits the base of the exponential is kept, less its running maximum so far, which
// lies beside it.
// CHECK-LABEL: logitile.kernel @sweep(
// CHECK-SAME: %stored_z: !logitile.view<?x256xf16, column_major> from @stored_z
// CHECK-SAME: %centre_z: !logitile.view<8x?xf32> from @centre_z
// CHECK: %z = logitile.project
// CHECK-NEXT: %in = logitile.load %bias
// CHECK-NEXT: %next:2 = logitile.update_state
// CHECK: %base = logitile.map(%z, %in, %next#0) at %column :
// CHECK-NEXT: ^bb0(%[[VALUE:.*]]: f32, %[[ADDED:.*]]: f32, %[[MAXIMUM:.*]]: f32):
// CHECK-NEXT: %[[LEAST:.*]] = arith.constant -6.550400e+04 : f32
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[VALUE]], %[[ADDED]] : f32
// CHECK-NEXT: %[[DISTANCE:.*]] = arith.subf %[[X]], %[[MAXIMUM]] : f32
// CHECK-NEXT: %[[IS_LESS:.*]] = arith.cmpf olt, %[[DISTANCE]], %[[LEAST]] : f32
// CHECK-NEXT: %[[FINITE:.*]] = arith.select %[[IS_LESS]], %[[LEAST]], %[[DISTANCE]] : f32
// CHECK-NEXT: logitile.yield %[[FINITE]] : f32
// CHECK: %tile = arith.divui %column, %tn : index
// CHECK-NEXT: logitile.store %next#0 to %centre_z at [%tile, %row]
// CHECK-NEXT: logitile.store %base to %stored_z at [%row, %column]

// A gradient that made that base of logits takes it as it was kept.
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK-SAME: %centre_z: !logitile.view<8x?xf32> from @centre_z
// CHECK: %tile = arith.divui %column, %c32{{.*}} : index
// CHECK-NEXT: %centre = logitile.load %centre_z at [%tile, %row] : !logitile.view<8x?xf32> -> !logitile.tile<64x1xf32>
// CHECK-NEXT: %z = logitile.load %stored_z at [%row, %column]
// CHECK: %g = logitile.map(%z, %{{.*}}, %{{.*}}, %centre) at %column
// CHECK-NEXT: ^bb0(%[[KEPT:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32, %[[CENTRE:.*]]: f32):
// CHECK-NEXT: %[[X:.*]] = arith.addf %[[KEPT]], %[[CENTRE]] : f32
// CHECK-NEXT: %[[LOG_P:.*]] = arith.subf %[[X]], %{{.*}} : f32
// CHECK-NEXT: logitile.yield %[[LOG_P]] : f32

// The sums of a fused sweep are not given the logits, which they do not read.
// CHECK-LABEL: logitile.kernel @fused(
// CHECK: %next = logitile.update_state(%running) with(%[[BIAS:[a-z0-9_]+]], %[[LSE:[a-z0-9_]+]]) at
// CHECK: %g = logitile.map(%z, %[[BIAS]], %[[LSE]], %centre) at
logitile.program @p vocab 256 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32, "sum" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    %zero = arith.constant 0.0 : f32
    logitile.yield %lowest, %zero : f32, f32
  } candidate {
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %x = arith.addf %z, %bias : f32
    logitile.yield %x : f32
  } update {
  ^bb0(%m: f32, %sum: f32):
    %z = logitile.input logits "z" : f32
    %next = arith.addf %sum, %z : f32
    logitile.yield %m, %next : f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32):
    %both = arith.maxnumf %ma, %mb : f32
    %sum = arith.addf %sa, %sb : f32
    logitile.yield %both, %sum : f32, f32
  }
  logitile.sweep @fused fused state ["total" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%total: f32):
    %bias = logitile.input vocab "bias" : f32
    %next = arith.addf %total, %bias : f32
    logitile.yield %next : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  logitile.finish @f forward of @s results ["lse" : f32] {
  ^bb0(%m: f32, %sum: f32):
    logitile.yield %sum : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %bias = logitile.input vocab "bias" : f32
    %lse = logitile.known <@f[0]> : f32
    %x = arith.addf %z, %bias : f32
    %log_p = arith.subf %x, %lse : f32
    logitile.adjoint logits "z" dense %log_p
  }
  logitile.schedule tokens [0, 4096) vocab_split 256 stored 256 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @z_hidden input hidden of "z" : !logitile.view<?x16xf32>
    logitile.buffer @z_weight input weight of "z" : !logitile.view<256x16xf32>
    logitile.buffer @bias call input of "bias" : !logitile.view<256xf32>
    logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x256xf16, column_major>
    logitile.buffer @centre_z chunk centre of "z" : !logitile.view<8x?xf32>
    logitile.buffer @state_m chunk row_state of @s[0] : !logitile.view<1x?xf32>
    logitile.buffer @state_sum chunk row_state of @s[1] : !logitile.view<1x?xf32>
    logitile.buffer @state_fused chunk row_state of @fused[0] : !logitile.view<1x?xf32>
    logitile.buffer @lse chunk result of @f[0] : !logitile.view<?xf32>
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x256xbf16, column_major>
    logitile.run forward {
      logitile.launch "sweep" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> using panels sweep @s store
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
      logitile.launch "fused" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32> sweep @fused
    }
  }
}
