// Of a Dense input that is picked from at a list of indices there is no gradient.
// RUN: %refused --logitile-differentiate %s

// expected-error @+1 {{'logitile.loss' op wants the gradient of 'soft', of which it picks entries at a list of indices; only logits and Vocab inputs have such a gradient}}
logitile.loss @of_a_table vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["soft"] {
  %soft = logitile.input dense "soft" : f32
  %indices = logitile.input token "indices" places 64 : i32
  %picked = logitile.gather %soft[%indices] : f32
  %loss = logitile.sum_list %picked : f32
  logitile.yield %loss : f32
}
