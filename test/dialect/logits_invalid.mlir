// RUN: %refused %s

func.func @a(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %stored: !logitile.stored_views, %i: index) {
  // expected-error @+1 {{'logitile.logits' op 'hidden' is '!logitile.weights', expected a bundle of hiddens}}
  %0 = logitile.logits of %weights, %weights by TK or %stored at [%i, %i] : !logitile.weights, !logitile.weights or !logitile.stored_views -> !logitile.logits<TM x TN x acc>
  return
}

// -----

func.func @a(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %stored: !logitile.stored_views, %i: index) {
  // expected-error @+1 {{'logitile.logits' op 'weight' is '!logitile.hiddens', expected a bundle of weights}}
  %0 = logitile.logits of %hiddens, %hiddens by TK or %stored at [%i, %i] : !logitile.hiddens, !logitile.hiddens or !logitile.stored_views -> !logitile.logits<TM x TN x acc>
  return
}

// -----

func.func @a(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %stored: !logitile.stored_views, %i: index) {
  // expected-error @+1 {{'logitile.logits' op 'stored' is '!logitile.hiddens', expected a bundle of stored_views}}
  %0 = logitile.logits of %hiddens, %weights by TK or %hiddens at [%i, %i] : !logitile.hiddens, !logitile.weights or !logitile.hiddens -> !logitile.logits<TM x TN x acc>
  return
}

// -----

func.func @a(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %stored: !logitile.stored_views, %i: index) {
  // expected-error @+1 {{'logitile.logits' op 'result' is '!logitile.hiddens', expected a bundle of logits}}
  %0 = logitile.logits of %hiddens, %weights by TK or %stored at [%i, %i] : !logitile.hiddens, !logitile.weights or !logitile.stored_views -> !logitile.hiddens
  return
}

// -----

func.func @a(%hiddens: !logitile.hiddens, %weights: !logitile.weights, %stored: !logitile.stored_views, %i: index) {
  // expected-error @+1 {{'logitile.logits' op 'by' is 0, which must be positive}}
  %0 = logitile.logits of %hiddens, %weights by 0 or %stored at [%i, %i] : !logitile.hiddens, !logitile.weights or !logitile.stored_views -> !logitile.logits<TM x TN x acc>
  return
}
