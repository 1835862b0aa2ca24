// Of what is read as a list, and of what is picked from at a list of indices, there is no gradient but that of logits.
// RUN: %refused --logitile-differentiate %s

// expected-error @+1 {{'logitile.loss' op wants the gradient of 'weights', which it reads as a list; only single entries have one}}
logitile.loss @of_a_list vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["weights"] {
  %weights = logitile.input token "weights" places 64 : f32
  %loss = logitile.sum_list %weights : f32
  logitile.yield %loss : f32
}

// -----

// expected-error @+1 {{'logitile.loss' op wants the gradient of 'bias', of which it picks entries at a list of indices; only logits have such a gradient}}
logitile.loss @of_a_table vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["bias"] {
  %bias = logitile.input vocab "bias" : f32
  %indices = logitile.input token "indices" places 64 : i32
  %picked = logitile.gather %bias[%indices] : f32
  %loss = logitile.sum_list %picked : f32
  logitile.yield %loss : f32
}
