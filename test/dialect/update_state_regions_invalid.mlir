// RUN: %refused %s

// Regions.

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) init {
    // expected-error @+1 {{'logitile.yield' op of 'init' gives (), expected ('f32')}}
    logitile.yield
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
  // expected-error @+1 {{'logitile.update_state' op 'candidate' takes (), expected ('f32')}}
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
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
  // expected-error @+1 {{'logitile.update_state' op 'update' takes ('f32'), expected ('f32', 'f32')}}
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield
  } update {
  ^bb0(%s: f32):
    logitile.yield %s : f32
  } merge {
  ^bb0(%s: f32, %t: f32, %x: f32):
    logitile.yield %s : f32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'merge' takes ('f32', 'f32'), expected ('f32', 'f32', 'f32')}}
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield
  } update {
  ^bb0(%s: f32, %x: f32):
    logitile.yield %s : f32
  } merge {
  ^bb0(%s: f32, %t: f32):
    logitile.yield %s : f32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op 'merge' uses input 0 of '!logitile.tile<4x8xf32>', which has a vocabulary axis}}
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xf32>), (!logitile.tile<4x8xf32>) init {
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
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xi32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  %0 = logitile.update_state(%r) with (%z) at %i below 8 : (!logitile.tile<4x1xi32>), (!logitile.tile<4x8xf32>) init {
    %c = arith.constant 0 : i32
    logitile.yield %c : i32
  } candidate {
  ^bb0(%x: f32):
    logitile.yield
  } update {
  ^bb0(%s: i32, %x: f32):
    logitile.yield %s : i32
  } merge {
  ^bb0(%s: i32, %t: i32, %x: f32):
    // expected-error @+1 {{'logitile.column' op stands in 'merge', which has no 'at'}}
    %c = logitile.column : i32
    logitile.yield %c : i32
  }
  return
}

// -----

func.func @a(%r: !logitile.tile<4x1xf32>, %z: !logitile.tile<4x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_state' op failed to verify that the next row state has the types of the last}}
  %0 = "logitile.update_state"(%r, %z, %i) <{limit = 8 : i64, operandSegmentSizes = array<i32: 1, 1, 1>, resultSegmentSizes = array<i32: 1, 0>}> ({
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  }, {
  ^bb0(%x: f32):
    logitile.yield
  }, {
  ^bb0(%s: f32, %x: f32):
    logitile.yield %s : f32
  }, {
  ^bb0(%s: f32, %t: f32, %x: f32):
    logitile.yield %s : f32
  }) : (!logitile.tile<4x1xf32>, !logitile.tile<4x8xf32>, index) -> !logitile.tile<4x1xi32>
  return
}
