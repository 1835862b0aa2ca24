// RUN: %refused %s

logitile.template @a<TM>(%count: index from tokens) {
  // expected-error @+1 {{'logitile.param' op attribute 'dim' failed to satisfy constraint: a dimension of a template that is not bound yet}}
  %0 = logitile.param 16
}

// -----

logitile.template @a<acc>(%count: index from tokens) {
  // expected-error @+1 {{'acc' is not a dimension; dimensions are integers or words in capitals}}
  %0 = logitile.param acc
}
