// RUN: %refused %s

func.func @a(%x: !logitile.tile<4x8xf32>) {
  // expected-error @+1 {{'logitile.map' op has no results}}
  logitile.map(%x) : (!logitile.tile<4x8xf32>) -> () {
  ^bb0(%a: f32):
    logitile.yield
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x8xf32>) {
  // expected-error @+1 {{'logitile.map' op gives '!logitile.tile<4x8xf32>' and '!logitile.tile<4x1xf32>', which differ in shape}}
  %0:2 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> (!logitile.tile<4x8xf32>, !logitile.tile<4x1xf32>) {
  ^bb0(%a: f32):
    logitile.yield %a, %a : f32, f32
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x8xf32>) {
  // expected-error @+1 {{'logitile.map' op 'inputs' 0 is '!logitile.tile<4x8xf32>', which does not fit into the result '!logitile.tile<4x1xf32>'}}
  %0 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> !logitile.tile<4x1xf32> {
  ^bb0(%a: f32):
    logitile.yield %a : f32
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x8xf32>) {
  // expected-error @+1 {{'logitile.map' op 'map' takes ('i32'), expected ('f32')}}
  %0 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> !logitile.tile<4x8xi32> {
  ^bb0(%a: i32):
    logitile.yield %a : i32
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x8xf32>) {
  %0 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> !logitile.tile<4x8xi32> {
  ^bb0(%a: f32):
    // expected-error @+1 {{'logitile.yield' op of 'map' gives ('f32'), expected ('i32')}}
    logitile.yield %a : f32
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x8xf32>) {
  // expected-error @+1 {{'logitile.map' op 'map' must end in 'logitile.yield', not 'ub.unreachable'}}
  %0 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> !logitile.tile<4x8xf32> {
  ^bb0(%a: f32):
    ub.unreachable
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x8xf32>) {
  %0 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> !logitile.tile<4x8xi32> {
  ^bb0(%a: f32):
    // expected-error @+1 {{'logitile.column' op stands in 'map', which has no 'at'}}
    %c = logitile.column : i32
    logitile.yield %c : i32
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x8xf32>) {
  %0 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> !logitile.tile<4x8xf32> {
  ^bb0(%a: f32):
    // expected-error @+1 {{'logitile.reduce' op has no place in 'map': expected arith and math ops on f32, i32 and i1}}
    %c = logitile.reduce sum %a : f32 -> f32
    logitile.yield %c : f32
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x8xf32>) {
  %0 = logitile.map(%x) : (!logitile.tile<4x8xf32>) -> !logitile.tile<4x8xf32> {
  ^bb0(%a: f32):
    // expected-error @+1 {{'arith.extf' op has no place in 'map': expected arith and math ops on f32, i32 and i1}}
    %c = arith.extf %a : f32 to f64
    logitile.yield %a : f32
  }
  return
}

// -----

func.func @a(%x: !logitile.tile<4x1xf32>, %i: !logitile.tile<4x1xi32>) {
  // expected-error @+1 {{'logitile.map' op merges into ('!logitile.tile<4x1xf32>') from ('!logitile.tile<4x1xf32>', '!logitile.tile<4x1xi32>'); expected two states of these types first}}
  %0 = logitile.map(%x, %i) merges : (!logitile.tile<4x1xf32>, !logitile.tile<4x1xi32>) -> !logitile.tile<4x1xf32> {
  ^bb0(%a: f32, %b: i32):
    logitile.yield %a : f32
  }
  return
}
