// RUN: %refused --logitile-form-sweeps --logitile-give-columns %s

// expected-error @below {{'logitile.sweep' op reads nothing along the vocabulary, and neither the program nor a request has a projection to go along}}
logitile.loss @no_projection vocab 7 outputs ["loss"] {
  %column = logitile.column : i32
  %number = arith.sitofp %column : i32 to f32
  %loss = logitile.reduce logsumexp %number : f32 -> f32
  logitile.yield %loss : f32
}
