// RUN: %refused %s

// The header of a loss.

// expected-error @+1 {{'logitile.loss' op vocabulary size 0 must be positive}}
logitile.loss @a vocab 0 outputs [] {
  logitile.yield
}

// -----

// expected-error @+1 {{'logitile.loss' op vocabulary size -3 must be positive}}
logitile.loss @a vocab -3 outputs [] {
  logitile.yield
}

// -----

// expected-error @+1 {{'logitile.loss' op vocabulary size 2147483648 is too large; 2147418112 is the most}}
logitile.loss @a vocab 2147483648 outputs [] {
  logitile.yield
}

// -----

// expected-error @+1 {{'logitile.loss' op names output "l" twice}}
logitile.loss @a vocab 5 outputs ["l", "l"] {
  %c = arith.constant 1.0 : f32
  logitile.yield %c, %c : f32, f32
}

// -----

// expected-error @+1 {{'logitile.loss' op has 'of' without 'wrt'}}
"logitile.loss"() <{sym_name = "a", vocab = 5 : i64, outputs = ["l"], of = ["l"]}> ({
  %c = arith.constant 1.0 : f32
  logitile.yield %c : f32
}) : () -> ()

// -----

// expected-error @+1 {{'logitile.loss' op has 'wrt' without 'of'}}
"logitile.loss"() <{sym_name = "a", vocab = 5 : i64, outputs = ["l"], wrt = ["z"]}> ({
  %c = arith.constant 1.0 : f32
  logitile.yield %c : f32
}) : () -> ()

// -----

// expected-error @+1 {{'logitile.loss' op wants a gradient of "entropy", which is no output}}
logitile.loss @a vocab 5 outputs ["l"] gradient of ["entropy"] wrt ["z"] {
  %c = arith.constant 1.0 : f32
  logitile.yield %c : f32
}

// -----

// The body of a loss.

// expected-error @+1 {{'logitile.loss' op takes ('f32'); a loss reads its inputs with 'logitile.input'}}
logitile.loss @a vocab 5 outputs ["l"] {
^bb0(%x: f32):
  logitile.yield %x : f32
}

// -----

// expected-error @+1 {{'logitile.loss' op must end in 'logitile.yield', not 'ub.unreachable'}}
logitile.loss @a vocab 5 outputs [] {
  ub.unreachable
}

// -----

// expected-error @+1 {{'logitile.loss' op names 2 outputs but yields 1 values}}
logitile.loss @a vocab 5 outputs ["l", "m"] {
  %c = arith.constant 1.0 : f32
  logitile.yield %c : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  // expected-error @+1 {{'logitile.yield' op output "l" varies along the vocabulary; it must be one value per token}}
  logitile.yield %z : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  // expected-error @+1 {{'arith.constant' op has no place in a loss: expected ops of 'logitile', or arith and math ops on f32, i32 and i1}}
  %c = arith.constant 1.0 : f64
  %l = arith.constant 1.0 : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %yes = arith.constant true
  // expected-error @+1 {{'scf.if' op has no place in a loss: expected ops of 'logitile', or arith and math ops on f32, i32 and i1}}
  %l = scf.if %yes -> f32 {
    %one = arith.constant 1.0 : f32
    scf.yield %one : f32
  } else {
    %two = arith.constant 2.0 : f32
    scf.yield %two : f32
  }
  logitile.yield %l : f32
}
