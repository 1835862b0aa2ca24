// RUN: %refused %s

func.func @a(%tile: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.sum_tokens' op 'result' is '!logitile.tile<64x32xf32>' of 64 rows, expected 1}}
  %0 = logitile.sum_tokens %tile at %i below %i : !logitile.tile<64x32xf32> -> !logitile.tile<64x32xf32>
  return
}

// -----

func.func @a(%tile: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.sum_tokens' op columns 32 of 'tile' must equal columns 16 of 'result'}}
  %0 = logitile.sum_tokens %tile at %i below %i : !logitile.tile<64x32xf32> -> !logitile.tile<1x16xf32>
  return
}

// -----

func.func @a(%grads: !logitile.vocab_grads<TM x TN x acc>, %i: index) {
  // expected-error @+1 {{'logitile.sum_tokens' op 'tile' is '!logitile.vocab_grads<TM x TN x acc>' but 'result' is '!logitile.tile<1 x TN x acc>'; bundles meet bundles}}
  %0 = logitile.sum_tokens %grads at %i below %i : !logitile.vocab_grads<TM x TN x acc> -> !logitile.tile<1 x TN x acc>
  return
}

// -----

func.func @a(%grads: !logitile.grads<TM x TN x acc>, %i: index) {
  // expected-error @+1 {{'logitile.sum_tokens' op 'tile' is '!logitile.grads<TM x TN x acc>', expected a bundle of vocab_grads}}
  %0 = logitile.sum_tokens %grads at %i below %i : !logitile.grads<TM x TN x acc> -> !logitile.vocab_grads<1 x TN x acc>
  return
}

// -----

func.func @a(%grads: !logitile.vocab_grads<TM x TN x acc>, %i: index) {
  // expected-error @+1 {{'logitile.sum_tokens' op 'result' is '!logitile.vocab_grads<TM x TN x acc>' of TM rows, expected 1}}
  %0 = logitile.sum_tokens %grads at %i below %i : !logitile.vocab_grads<TM x TN x acc> -> !logitile.vocab_grads<TM x TN x acc>
  return
}
