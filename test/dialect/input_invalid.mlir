// RUN: %refused %s

func.func @a() {
  // expected-error @+1 {{'logitile.input' op gives vocab 'bias' an index; only token inputs have entries}}
  %0 = logitile.input vocab "bias"[0] : f32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op index -1 of token 'targets' is negative}}
  %0 = logitile.input token "targets"[-1] : i32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op type 'i32' of logits 'z' must be f32}}
  %0 = logitile.input logits "z" : i32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op type i1 of scalar 'flag' must be f32 or i32}}
  %0 = logitile.input scalar "flag" : i1
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op reads 'call.token', the index of the token, as scalar 'call.token' of type 'i32'; it is a token input of type i32 without an index}}
  %0 = logitile.input scalar "call.token" : i32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op reads 'call.token', the index of the token, as token 'call.token'[1] of type 'i32'; it is a token input of type i32 without an index}}
  %0 = logitile.input token "call.token"[1] : i32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op type 'i32' of cotangent 'loss' must be f32}}
  %0 = logitile.input cotangent "loss" : i32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op type i32 of dense 'target' must be f32 or i1}}
  %0 = logitile.input dense "target" : i32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op result #0 must be a scalar of f32, i32 or i1, but got 'f64'}}
  %0 = logitile.input token "weight" : f64
  return
}

// -----

func.func @a() {
  // expected-error @+2 {{expected ::logitile::InputKind to be one of: logits, token, vocab, dense, scalar, cotangent}}
  // expected-error @+1 {{failed to parse Logitile_InputKindAttr}}
  %0 = logitile.input label "target" : i32
  return
}
