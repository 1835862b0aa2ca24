// RUN: %refused %s

// Kernels gather only from memory.

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %table = logitile.input vocab "bias" : f32
    %t = logitile.input token "t" : i32
    %one = arith.constant 1 : i32
    %next = arith.addi %t, %one : i32
    // expected-error @+1 {{'logitile.gather' op has an index that is no token or known input; a finish has to make it known first}}
    %picked = logitile.gather %table[%next] : f32
    logitile.adjoint vocab "bias" dense %picked
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %t = logitile.input token "t" : i32
    %u = logitile.input token "u" : f32
    %down = arith.negf %u : f32
    // expected-error @+1 {{'logitile.adjoint' op coefficient 1 is no token or known input; a finish has to make it known first}}
    logitile.adjoint logits "z" sparse [%t -> %u, %t -> %down]
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.gradient {
    %column = logitile.column : i32
    %u = logitile.input token "u" : f32
    // expected-error @+1 {{'logitile.adjoint' op column 0 is no token or known input; a finish has to make it known first}}
    logitile.adjoint logits "z" sparse [%column -> %u]
  }
}
