// RUN: %refused %s

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'entries' has '!logitile.tile<4x1xf32>'; expected tiles of all elements, as '!logitile.tile<4x8xf32>'}}
  %0, %g = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) entries (!logitile.tile<4x1xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  } update {
  ^bb0(%s: f32, %x: f32):
    logitile.yield %s, %x : f32, f32
  } merge {
  ^bb0(%s: f32, %t: f32, %x: f32):
    logitile.yield %s : f32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'update' yields an entry that depends on state 1, which differs from column to column}}
  %0:2, %g = logitile.update_state(%r, %r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>, !logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) entries (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c, %c : f32, f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  } update {
  ^bb0(%m: f32, %s: f32, %x: f32):
    %t = arith.addf %s, %x : f32
    %u = arith.mulf %t, %m : f32
    logitile.yield %m, %t, %u : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %sa: f32, %mb: f32, %sb: f32, %x: f32):
    logitile.yield %ma, %sa : f32, f32
  }
  return
}

// -----

// Without an input along the vocabulary there are no elements.

func.func @a(%r: !logitile.tile<4x1xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'entries' has '!logitile.tile<4x1xf32>'; expected tiles of all elements}}
  %0, %g = logitile.update_state(%r) with () at %i below 8 : (!logitile.tile<4x1xf32>), () entries (!logitile.tile<4x1xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%s: f32):
    %c = arith.constant 0.0 : f32
    logitile.yield %s, %c : f32, f32
  } merge {
  ^bb0(%s: f32, %t: f32):
    logitile.yield %s : f32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'update' changes state 0, which is a maximum of candidates}}
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  } update {
  ^bb0(%m: f32, %x: f32):
    %t = arith.addf %m, %x : f32
    logitile.yield %t : f32
  } merge {
  ^bb0(%a: f32, %b: f32, %x: f32):
    logitile.yield %a : f32
  }
  return
}
