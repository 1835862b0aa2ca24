// RUN: %refused %s

func.func @a(%z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op has no rows}}
  "logitile.update_state"(%z, %i) <{limit = 8 : i64, operandSegmentSizes = array<i32: 0, 1, 1>, resultSegmentSizes = array<i32: 0, 0>}> ({
    logitile.yield
  }, {
  ^bb0(%x: f32):
    logitile.yield
  }, {
  ^bb0(%x: f32):
    logitile.yield
  }, {
  ^bb0(%x: f32):
    logitile.yield
  }) : (!logitile.tile<4x8xf32>, index) -> ()
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'below' is -8, which must be positive}}
  %0 = logitile.update_state(%r) with (%z) at %i below -8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield
  } update {
  ^bb0(%s: f32, %x: f32):
    logitile.yield %s : f32
  } merge {
  ^bb0(%s: f32, %t: f32, %x: f32):
    logitile.yield %s : f32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'candidate' gives 2 values for 1 slots of row state}}
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield %x, %x : f32, f32
  } update {
  ^bb0(%s: f32, %x: f32):
    logitile.yield %s : f32
  } merge {
  ^bb0(%s: f32, %t: f32, %x: f32):
    logitile.yield %s : f32
  }
  return
}

// -----

// Tiles that do not fit together.

func.func @a(%r: !logitile.tile<4x1xf32>, %q: !logitile.tile<8x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'state' is ('!logitile.tile<4x1xf32>', '!logitile.tile<8x1xf32>'); expected one value for each of the same tokens}}
  %0:2 = logitile.update_state(%r, %q) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>, !logitile.tile<8x1xf32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c, %c : f32, f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield
  } update {
  ^bb0(%s: f32, %t: f32, %x: f32):
    logitile.yield %s, %t : f32, f32
  } merge {
  ^bb0(%sa: f32, %ta: f32, %sb: f32, %tb: f32, %x: f32):
    logitile.yield %sa, %ta : f32, f32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x8xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'state' is ('!logitile.tile<4x8xf32>'); expected one value for each of the same tokens}}
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x8xf32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield
  } update {
  ^bb0(%s: f32, %x: f32):
    logitile.yield %s : f32
  } merge {
  ^bb0(%s: f32, %t: f32, %x: f32):
    logitile.yield %s : f32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %y: !logitile.tile<1x16xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'inputs' 1 is '!logitile.tile<1x16xf32>', which does not fit into '!logitile.tile<4x8xf32>'}}
  %0 = logitile.update_state(%r) with (%z, %y) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>, !logitile.tile<1x16xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
  ^bb0(%x: f32, %w: f32):
    logitile.yield
  } update {
  ^bb0(%s: f32, %x: f32, %w: f32):
    logitile.yield %s : f32
  } merge {
  ^bb0(%s: f32, %t: f32, %x: f32, %w: f32):
    logitile.yield %s : f32
  }
  return
}
