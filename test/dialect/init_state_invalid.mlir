// RUN: %refused %s

func.func @a() {
  // expected-error @+1 {{'logitile.init_state' op gives ('!logitile.tile<64x1xf32>') without a region; expected one bundle of row_state, or the sweep's init region}}
  %0 = logitile.init_state : !logitile.tile<64x1xf32>
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.init_state' op gives ('!logitile.results<TM>') without a region; expected one bundle of row_state, or the sweep's init region}}
  %0 = logitile.init_state : !logitile.results<TM>
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.init_state' op gives ('!logitile.row_state<TM>') from a region; expected tiles}}
  %0 = logitile.init_state : !logitile.row_state<TM> {
    %c = arith.constant 1.0 : f32
    logitile.yield %c : f32
  }
  return
}

// -----

func.func @a() {
  %0 = logitile.init_state : !logitile.tile<64x1xf32> {
    %c = arith.constant 1 : i32
    // expected-error @+1 {{'logitile.yield' op of 'init' gives ('i32'), expected ('f32')}}
    logitile.yield %c : i32
  }
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.init_state' op 'init' takes ('f32'), expected ()}}
  %0 = logitile.init_state : !logitile.tile<64x1xf32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @a() {
  %0 = logitile.init_state : !logitile.tile<64x1xi32> {
    // expected-error @+1 {{'logitile.column' op stands in 'init', which has no 'at'}}
    %x = logitile.column : i32
    logitile.yield %x : i32
  }
  return
}
