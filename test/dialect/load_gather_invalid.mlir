// RUN: %refused %s

func.func @a(%x: !logitile.view<300xf32>, %index: !logitile.tile<64x1xf32>) {
  // expected-error @+1 {{'logitile.load_gather' op 'index' has element type 'f32', expected i32}}
  %0 = logitile.load_gather %x[%index] : !logitile.view<300xf32>, !logitile.tile<64x1xf32> -> !logitile.tile<64x1xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<300xf32>, %index: !logitile.tile<64x1xi32>) {
  // expected-error @+1 {{'logitile.load_gather' op 'index' is '!logitile.tile<64x1xi32>' but the result is '!logitile.tile<32x1xf32>'}}
  %0 = logitile.load_gather %x[%index] : !logitile.view<300xf32>, !logitile.tile<64x1xi32> -> !logitile.tile<32x1xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<300xf32>, %index: !logitile.tile<64x4xi32>) {
  // expected-error @+1 {{'logitile.load_gather' op 'index' is '!logitile.tile<64x4xi32>'; expected one index per token}}
  %0 = logitile.load_gather %x[%index] : !logitile.view<300xf32>, !logitile.tile<64x4xi32> -> !logitile.tile<64x4xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?x300xf32>, %index: !logitile.tile<64x1xi32>) {
  // expected-error @+1 {{'logitile.load_gather' op needs 'at' for a view with one row per token}}
  %0 = logitile.load_gather %x[%index] : !logitile.view<?x300xf32>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<300xf32>, %index: !logitile.tile<64x1xi32>, %row: index) {
  // expected-error @+1 {{'logitile.load_gather' op gives 'at' for a view without tokens}}
  %0 = logitile.load_gather %x[%index] at %row : !logitile.view<300xf32>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<300xf32>, %index: !logitile.tile<64x1xi32>, %map: !logitile.view<?xi32>) {
  // expected-error @+1 {{'logitile.load_gather' op gives 'through' for a view without tokens}}
  %0 = logitile.load_gather %x[%index] through %map : !logitile.view<300xf32>, !logitile.tile<64x1xi32>, !logitile.view<?xi32> -> !logitile.tile<64x1xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?x300xf32>, %index: !logitile.tile<64x1xi32>, %map: !logitile.view<?xf32>, %row: index) {
  // expected-error @+1 {{'logitile.load_gather' op 'map' is '!logitile.view<?xf32>'; expected one i32 per token}}
  %0 = logitile.load_gather %x[%index] at %row through %map : !logitile.view<?x300xf32>, !logitile.tile<64x1xi32>, !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
  return
}
