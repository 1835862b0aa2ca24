// RUN: %refused %s

// Inputs of a loss.

logitile.loss @a vocab 5 outputs ["l"] {
  %a = logitile.input token "t" : f32
  // expected-error @+1 {{'logitile.input' op uses 't' as scalar, but it was token before}}
  %b = logitile.input scalar "t" : f32
  logitile.yield %a : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %a = logitile.input token "t" : f32
  // expected-error @+1 {{'logitile.input' op reads 't' as 'i32', but it was 'f32' before}}
  %b = logitile.input token "t" : i32
  logitile.yield %a : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %a = logitile.input token "t"[0] : f32
  // expected-error @+1 {{'logitile.input' op reads 't' as 'i32', but it was 'f32' before}}
  %b = logitile.input token "t"[1] : i32
  logitile.yield %a : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %a = logitile.input token "t"[0] : f32
  // expected-error @+1 {{'logitile.input' op uses token 't' without an index, but it was used with one before}}
  %b = logitile.input token "t" : f32
  logitile.yield %a : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  // expected-error @+1 {{'logitile.known' op has no place in a loss: expected ops of 'logitile', or arith and math ops on f32, i32 and i1}}
  %a = logitile.known <@none[0]> : f32
  logitile.yield %a : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  // expected-error @+1 {{'logitile.input' op reads cotangent 'l' outside of 'logitile.gradient'}}
  %a = logitile.input cotangent "l" : f32
  logitile.yield %a : f32
}
