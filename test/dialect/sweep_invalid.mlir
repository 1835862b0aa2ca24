// RUN: %refused %s

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op has no state}}
  logitile.sweep @s forward state [] init {
    logitile.yield
  } candidate {
    logitile.yield
  } update {
    logitile.yield
  } merge {
    logitile.yield
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op names state "m" twice}}
  logitile.sweep @s forward state ["m" : f32, "m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c, %c : f32, f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32, %n: f32):
    logitile.yield %m, %n : f32, f32
  } merge {
  ^bb0(%ma: f32, %na: f32, %mb: f32, %nb: f32):
    logitile.yield %ma, %na : f32, f32
  }
}

// -----

"logitile.program"() <{sym_name = "a", vocab = 5 : i64, outputs = [], indices = [], checked = []}> ({
  // expected-error @+1 {{'logitile.sweep' op has 2 names but 1 types of states}}
  "logitile.sweep"() <{sym_name = "s", phase = #logitile<phase forward>, state_names = ["m", "n"], state_types = [f32]}> ({
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  }, {
    logitile.yield
  }, {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  }, {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }, {
  }) : () -> ()
}) : () -> ()

// -----

// expected-error @+1 {{'logitile.sweep' op expects parent op 'logitile.program'}}
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

// -----

// The candidates for maxima.

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.sweep' op 'candidate' must end in 'logitile.yield', not 'ub.unreachable'}}
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    ub.unreachable
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
  // expected-error @+1 {{'logitile.sweep' op 'candidate' gives 2 values for 1 slots of row state}}
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    %z = logitile.input logits "z" : f32
    logitile.yield %z, %z : f32, f32
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
  // expected-error @+1 {{'logitile.sweep' op slot 0 of the row state is 'i32', but 'candidate' gives it one; running maxima are f32}}
  logitile.sweep @s forward state ["best" : i32] init {
    %c = arith.constant 0 : i32
    logitile.yield %c : i32
  } candidate {
    %column = logitile.column : i32
    logitile.yield %column : i32
  } update {
  ^bb0(%m: i32):
    logitile.yield %m : i32
  } merge {
  ^bb0(%ma: i32, %mb: i32):
    logitile.yield %ma : i32
  }
}
