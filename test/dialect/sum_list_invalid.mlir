// RUN: %refused %s

logitile.loss @a vocab 5 outputs ["l"] {
  %t = logitile.input token "t" : f32
  // expected-error @+1 {{'logitile.sum_list' op adds up a value that is no list which is read}}
  %l = logitile.sum_list %t : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  %top = logitile.reduce top %z places 2 : f32 -> f32
  // expected-error @+1 {{'logitile.sum_list' op reads the values of a list of largest entries, which a loss can only yield; to compute with them, gather the entries at the indices of 'argtop'}}
  %l = logitile.sum_list %top : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %a = logitile.input token "a" places 3 : f32
  %b = logitile.input token "b" places 4 : f32
  // expected-error @+1 {{'arith.addf' op takes lists of 3 and of 4 places; expected one length}}
  %c = arith.addf %a, %b : f32
  %l = logitile.sum_list %c : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  %a = logitile.input token "a" places 3 : f32
  // expected-error @+1 {{'arith.addf' op takes a list and a value that varies along the vocabulary; the entries at a list of indices are a list}}
  %c = arith.addf %z, %a : f32
  %l = logitile.sum_list %c : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %z = logitile.input logits "z" : f32
  %a = logitile.input token "a" places 3 : i32
  %one = arith.constant 1 : i32
  %next = arith.addi %a, %one : i32
  // expected-error @+1 {{'logitile.gather' op has a list of indices that is computed; expected a token input with 'places', or an 'argtop'}}
  %p = logitile.gather %z[%next] : f32
  %l = logitile.sum_list %p : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %a = logitile.input token "a" places 3 : f32
  %i = arith.constant 1 : i32
  // expected-error @+1 {{'logitile.gather' op picks from a list that is read; only entries of the vocabulary are picked at a list of indices}}
  %l = logitile.gather %a[%i] : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  // expected-error @+1 {{'logitile.input' op 'places' is 4097; a list that is read has 1 to 4096}}
  %a = logitile.input token "a" places 4097 : f32
  %l = logitile.sum_list %a : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  // expected-error @+1 {{'logitile.input' op reads vocab 'a' with 'places'; only token inputs without an index are read as lists}}
  %a = logitile.input vocab "a" places 4 : f32
  %l = logitile.sum_list %a : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] {
  %a = logitile.input token "a" places 4 : f32
  // expected-error @+1 {{'logitile.input' op reads token 'a' with 0 places, but it was read with 4 before; expected the whole list each time, or single values}}
  %b = logitile.input token "a"[1] : f32
  %s = logitile.sum_list %a : f32
  %l = arith.addf %s, %b : f32
  logitile.yield %l : f32
}

// -----

logitile.loss @a vocab 5 outputs ["l"] gradient of ["l"] wrt ["z"] {
  %z = logitile.input logits "z" : f32
  %i = logitile.input token "i" : i32
  %t = logitile.input token "t" places 4 : f32
  %l = logitile.gather %z[%i] : f32
  logitile.gradient {
    // expected-error @+1 {{'logitile.adjoint' op has a coefficient of 4 places with a column of 0; expected as many, or one coefficient per token}}
    logitile.adjoint logits "z" sparse [%i -> %t]
  }
  logitile.yield %l : f32
}
