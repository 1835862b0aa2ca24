// RUN: %refused %s

func.func @a(%hidden: !logitile.view<?x24xf32>, %weight: !logitile.view<300x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.project' op hidden size 24 of 'hidden' must equal hidden size 32 of 'weight'}}
  %0 = logitile.project %hidden, %weight at [%i, %i] by 8 using dot_products : !logitile.view<?x24xf32>, !logitile.view<300x32xf32> -> !logitile.tile<64x32xf32>
  return
}

// -----

func.func @a(%hidden: !logitile.view<? x D x f32>, %weight: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.project' op hidden size D of 'hidden' must equal hidden size 24 of 'weight'}}
  %0 = logitile.project %hidden, %weight at [%i, %i] by 8 using dot_products : !logitile.view<? x D x f32>, !logitile.view<300x24xf32> -> !logitile.tile<64x32xf32>
  return
}

// -----

func.func @a(%hidden: !logitile.view<?xf32>, %weight: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.project' op 'hidden' is '!logitile.view<?xf32>'; expected 2 dimensions}}
  %0 = logitile.project %hidden, %weight at [%i, %i] by 8 using dot_products : !logitile.view<?xf32>, !logitile.view<300x24xf32> -> !logitile.tile<64x32xf32>
  return
}

// -----

func.func @a(%hidden: !logitile.view<?x24xf32>, %weight: !logitile.view<24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.project' op 'weight' is '!logitile.view<24xf32>'; expected 2 dimensions}}
  %0 = logitile.project %hidden, %weight at [%i, %i] by 8 using dot_products : !logitile.view<?x24xf32>, !logitile.view<24xf32> -> !logitile.tile<64x32xf32>
  return
}

// -----

func.func @a(%hidden: !logitile.view<?x24xf32>, %weight: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.project' op 'by' is 0, which must be positive}}
  %0 = logitile.project %hidden, %weight at [%i, %i] by 0 using dot_products : !logitile.view<?x24xf32>, !logitile.view<300x24xf32> -> !logitile.tile<64x32xf32>
  return
}

// -----

func.func @a(%hidden: !logitile.view<?x24xf32>, %weight: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.project' op 'by' is "all", expected an integer or a symbol}}
  %0 = "logitile.project"(%hidden, %weight, %i, %i) <{depth = "all"}> : (!logitile.view<?x24xf32>, !logitile.view<300x24xf32>, index, index) -> !logitile.tile<64x32xf32>
  return
}

// -----

// Bundles.

func.func @a(%hiddens: !logitile.hiddens, %weight: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.project' op 'hidden' is '!logitile.hiddens' but 'weight' is '!logitile.view<300x24xf32>'; bundles meet bundles}}
  %0 = logitile.project %hiddens, %weight at [%i, %i] by 8 using panels : !logitile.hiddens, !logitile.view<300x24xf32> -> !logitile.tile<64x32xf32>
  return
}

// -----

func.func @a(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %i: index) {
  // expected-error @+1 {{'logitile.project' op 'hidden' is '!logitile.hiddens' but 'result' is '!logitile.tile<64x32xf32>'; bundles meet bundles}}
  %0 = logitile.project %hiddens, %weights at [%i, %i] by 8 using panels : !logitile.hiddens, !logitile.weights -> !logitile.tile<64x32xf32>
  return
}

// -----

func.func @a(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %i: index) {
  // expected-error @+1 {{'logitile.project' op 'hidden' is '!logitile.weights', expected a bundle of hiddens}}
  %0 = logitile.project %weights, %hiddens at [%i, %i] by 8 using panels : !logitile.weights, !logitile.hiddens -> !logitile.logits<TM x TN x acc>
  return
}

// -----

func.func @a(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %i: index) {
  // expected-error @+1 {{'logitile.project' op 'result' is '!logitile.grads<TM x TN x acc>', expected a bundle of logits}}
  %0 = logitile.project %hiddens, %weights at [%i, %i] by 8 using panels : !logitile.hiddens, !logitile.weights -> !logitile.grads<TM x TN x acc>
  return
}
