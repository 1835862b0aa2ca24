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
  // expected-error @+1 {{'logitile.input' op type 'f32' of token_index must be i32}}
  %0 = logitile.input token_index : f32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op names slice_offset 'begin'; there is one of it, which has no name}}
  %0 = logitile.input slice_offset "begin" : i32
  return
}

// -----

func.func @a() {
  // expected-error @+1 {{'logitile.input' op gives token_index an index; only token inputs have entries}}
  %0 = logitile.input token_index[1] : i32
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
