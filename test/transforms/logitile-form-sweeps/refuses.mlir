// RUN: %refused --logitile-form-sweeps %s

// expected-error @below {{'logitile.loss' op wants gradients but has none; run logitile-differentiate first}}
logitile.loss @no_gradient vocab 7 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %loss = logitile.reduce logsumexp %z : f32 -> f32
  logitile.yield %loss : f32
}

// -----

logitile.loss @unknown vocab 7 outputs ["loss"] {
  %a = logitile.input token "a" : f32
  // expected-error @below {{'math.atan' op is no op that a loss may use}}
  %loss = math.atan %a : f32
  logitile.yield %loss : f32
}

// -----

// Logic is for conditions.
logitile.loss @integers vocab 7 outputs ["loss"] {
  %a = logitile.input token "a" : i32
  %b = logitile.input token "b" : i32
  // expected-error @below {{'arith.andi' op is no op that a loss may use}}
  %loss = arith.andi %a, %b : i32
  logitile.yield %loss : i32
}

// -----

// As a signed number a true condition would be -1.
logitile.loss @signed vocab 7 outputs ["loss"] {
  %a = logitile.input token "a" : i1
  // expected-error @below {{'arith.sitofp' op is no op that a loss may use}}
  %loss = arith.sitofp %a : i1 to f32
  logitile.yield %loss : f32
}

// -----

logitile.loss @unsigned vocab 7 outputs ["loss"] {
  %a = logitile.input token "a" : i32
  // expected-error @below {{'arith.uitofp' op is no op that a loss may use}}
  %loss = arith.uitofp %a : i32 to f32
  logitile.yield %loss : f32
}
