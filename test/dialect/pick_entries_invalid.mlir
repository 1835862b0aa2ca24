// RUN: %refused %s

func.func @other_lengths(%a: !logitile.view<?x8xi32>, %b: !logitile.view<?x9xf32>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.pick_entries' op has picks in '!logitile.view<?x8xi32>' and '!logitile.view<?x9xf32>'; expected views of i32 and f32 with a column for each of the same number of places}}
  logitile.pick_entries %z to [%a, %b] at [%i, %i] tokens 64 below 9 : !logitile.tile<64x32xf32> to [!logitile.view<?x8xi32>, !logitile.view<?x9xf32>]
  return
}

// -----

func.func @no_pair(%a: !logitile.view<?x8xi32>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.pick_entries' op has 1 views of picks; indices and numbers come in pairs}}
  logitile.pick_entries %z to [%a] at [%i, %i] tokens 64 below 9 : !logitile.tile<64x32xf32> to [!logitile.view<?x8xi32>]
  return
}

// -----

func.func @too_many_tiles(%a: !logitile.view<?x8xi32>, %b: !logitile.view<?x8xf32>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.pick_entries' op has 2 tiles of logits for 1 picks}}
  logitile.pick_entries %z, %z to [%a, %b] at [%i, %i] tokens 64 below 9
      : !logitile.tile<64x32xf32>, !logitile.tile<64x32xf32> to [!logitile.view<?x8xi32>, !logitile.view<?x8xf32>]
  return
}

// -----

func.func @half_a_template(%a: !logitile.pick_views, %z: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.pick_entries' op takes ('!logitile.tile<64x32xf32>') to ('!logitile.pick_views'); expected logits to pick_views}}
  logitile.pick_entries %z to [%a] at [%i, %i] tokens 64 below 9 : !logitile.tile<64x32xf32> to [!logitile.pick_views]
  return
}
