// RUN: %refused %s

func.func @a(%x: !logitile.view<?x4xf32>, %i: index) {
  // expected-error @+1 {{'logitile.load' op gives 1 indices for '!logitile.view<?x4xf32>' of 2 dimensions}}
  %0 = logitile.load %x at [%i] : !logitile.view<?x4xf32> -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.load' op 'view' has 1 dimension, but 'result' is '!logitile.tile<4x4xf32>' without an extent of 1}}
  %0 = logitile.load %x at [%i] : !logitile.view<?xf32> -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?xf32>, %map: !logitile.view<?x4xi32>, %i: index) {
  // expected-error @+1 {{'logitile.load' op 'map' is '!logitile.view<?x4xi32>'; expected one i32 per token}}
  %0 = logitile.load %x at [%i] through %map : !logitile.view<?xf32>, !logitile.view<?x4xi32> -> !logitile.tile<4x1xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?xf32>, %map: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.load' op 'map' is '!logitile.view<?xf32>'; expected one i32 per token}}
  %0 = logitile.load %x at [%i] through %map : !logitile.view<?xf32>, !logitile.view<?xf32> -> !logitile.tile<4x1xf32>
  return
}

// -----

// Bundles.

func.func @a(%stored: !logitile.logit_views, %i: index) {
  // expected-error @+1 {{'logitile.load' op 'view' is '!logitile.logit_views' but 'result' is '!logitile.tile<4x4xf32>'; bundles meet bundles}}
  %0 = logitile.load %stored at [%i, %i] : !logitile.logit_views -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%stored: !logitile.logit_views, %i: index) {
  // expected-error @+1 {{'logitile.load' op 'result' is '!logitile.row_state<TM>', expected a bundle of logits}}
  %0 = logitile.load %stored at [%i, %i] : !logitile.logit_views -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %i: index) {
  // expected-error @+1 {{'logitile.load' op 'view' is '!logitile.row_state<TM>', of which no tile is loaded or stored}}
  %0 = logitile.load %rows at [%i, %i] : !logitile.row_state<TM> -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%hiddens: !logitile.hiddens, %i: index) {
  // expected-error @+1 {{'logitile.load' op 'view' is '!logitile.hiddens', of which no tile is loaded or stored}}
  %0 = logitile.load %hiddens at [%i, %i] : !logitile.hiddens -> !logitile.inputs<TM x TN>
  return
}

// -----

func.func @a(%inputs: !logitile.input_views, %i: index) {
  // expected-error @+1 {{'logitile.load' op gives 1 indices for '!logitile.input_views', which takes 2}}
  %0 = logitile.load %inputs at [%i] : !logitile.input_views -> !logitile.inputs<TM x 1>
  return
}
