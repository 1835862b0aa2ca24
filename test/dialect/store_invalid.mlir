// RUN: %refused %s

func.func @a(%tile: !logitile.tile<4x4xf32>, %x: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.store' op gives 2 indices for '!logitile.view<?xf32>' of 1 dimensions}}
  logitile.store %tile to %x at [%i, %i] : !logitile.tile<4x4xf32> to !logitile.view<?xf32>
  return
}

// -----

func.func @a(%tile: !logitile.tile<4x4xf32>, %x: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.store' op 'view' has 1 dimension, but 'value' is '!logitile.tile<4x4xf32>' without an extent of 1}}
  logitile.store %tile to %x at [%i] : !logitile.tile<4x4xf32> to !logitile.view<?xf32>
  return
}

// -----

func.func @a(%tile: !logitile.tile<4x1xf32>, %x: !logitile.view<?xf32>, %map: !logitile.view<?xi1>, %i: index) {
  // expected-error @+1 {{'logitile.store' op 'map' is '!logitile.view<?xi1>'; expected one i32 per token}}
  logitile.store %tile to %x at [%i] through %map : !logitile.tile<4x1xf32> to !logitile.view<?xf32>, !logitile.view<?xi1>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %x: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.store' op 'view' is '!logitile.view<?xf32>' but 'value' is '!logitile.row_state<TM>'; bundles meet bundles}}
  logitile.store %rows to %x at [%i] : !logitile.row_state<TM> to !logitile.view<?xf32>
  return
}

// -----

func.func @a(%grads: !logitile.grads<TM x TN x acc>, %stored: !logitile.logit_views, %i: index) {
  // expected-error @+1 {{'logitile.store' op 'value' is '!logitile.grads<TM x TN x acc>', expected a bundle of logits}}
  logitile.store %grads to %stored at [%i, %i] : !logitile.grads<TM x TN x acc> to !logitile.logit_views
  return
}

// -----

func.func @a(%results: !logitile.results<TM>, %views: !logitile.result_views, %i: index) {
  // expected-error @+1 {{'logitile.store' op gives 2 indices for '!logitile.result_views', which takes 1}}
  logitile.store %results to %views at [%i, %i] : !logitile.results<TM> to !logitile.result_views
  return
}

// -----

func.func @a(%terms: !logitile.sparse_views, %grads: !logitile.grads<TM x TN x acc>, %i: index) {
  // expected-error @+1 {{'logitile.store' op 'view' is '!logitile.sparse_views', of which no tile is loaded or stored}}
  logitile.store %grads to %terms at [%i, %i] : !logitile.grads<TM x TN x acc> to !logitile.sparse_views
  return
}

// -----

func.func @a(%tile: !logitile.tile<8x8xf32>, %view: !logitile.view<8x8xf32 to bf16>, %i: index) {
  // expected-error @+1 {{'logitile.store' op writes to '!logitile.view<8x8xf32 to bf16>', whose elements are rounded when they are read; such a view is only read}}
  logitile.store %tile to %view at [%i, %i] : !logitile.tile<8x8xf32> to !logitile.view<8x8xf32 to bf16>
  return
}
