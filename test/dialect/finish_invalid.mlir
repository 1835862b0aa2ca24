// RUN: %refused %s

// expected-error @+1 {{'logitile.finish' op expects parent op 'logitile.program'}}
logitile.finish @f forward results [] {
  logitile.yield
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op names result "x" twice}}
  logitile.finish @f forward results ["x" : f32, "x" : f32] {
    %x = arith.constant 1.0 : f32
    logitile.yield %x, %x : f32, f32
  }
}

// -----

"logitile.program"() <{sym_name = "a", vocab = 5 : i64, outputs = [], indices = [], checked = []}> ({
  // expected-error @+1 {{'logitile.finish' op has 1 names but 0 types of results}}
  "logitile.finish"() <{sym_name = "f", phase = #logitile<phase forward>, result_names = ["x"], result_types = []}> ({
    logitile.yield
  }) : () -> ()
}) : () -> ()

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op is 'of' @s, which is no sweep of this program}}
  logitile.finish @f forward of @s results [] {
    logitile.yield
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op stands before its sweep @s}}
  logitile.finish @f forward of @s results [] {
    logitile.yield
  }
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s backward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
  // expected-error @+1 {{'logitile.finish' op is forward, but its sweep @s is backward}}
  logitile.finish @f forward of @s results [] {
  ^bb0(%m: f32):
    logitile.yield
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op 'finish' takes ('f32'), expected ()}}
  logitile.finish @f forward results ["x" : f32] {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op 'finish' must end in 'logitile.yield', not 'ub.unreachable'}}
  logitile.finish @f forward results ["x" : f32] {
    ub.unreachable
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    %x = arith.constant 1 : i32
    // expected-error @+1 {{'logitile.yield' op of 'finish' gives ('i32'), expected ('f32')}}
    logitile.yield %x : i32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    // expected-error @+1 {{'logitile.input' op differs along the vocabulary, which 'finish' does not see: it has one value per token}}
    %x = logitile.input logits "z" : f32
    logitile.yield %x : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : i32] {
    // expected-error @+1 {{'logitile.column' op differs along the vocabulary, which 'finish' does not see: it has one value per token}}
    %x = logitile.column : i32
    logitile.yield %x : i32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    // expected-error @+1 {{'logitile.input' op differs along the vocabulary, which 'finish' does not see: it has one value per token}}
    %table = logitile.input vocab "bias" : f32
    %t = logitile.input token "t" : i32
    %entry = logitile.gather %table[%t] : f32
    %x = arith.addf %entry, %table : f32
    logitile.yield %x : f32
  }
}
