// RUN: %refused %s

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] lists [3] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
  // expected-error @+1 {{'logitile.finish' op is of list 1, but sweep @s has 1}}
  logitile.finish @f forward of @s list 1 results [] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] lists [3] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
  // expected-error @+1 {{'logitile.finish' op is of list 0, but of no sweep}}
  logitile.finish @f forward list 0 results [] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] lists [3] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
  logitile.finish @f forward of @s list 0 results ["v" : f32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
  logitile.finish @g forward of @s results ["w" : f32] {
  ^bb0(%m: f32):
    // expected-error @+1 {{'logitile.known' op reads @f[0], which has one value for each place of a list}}
    %v = logitile.known <@f[0]> : f32
    logitile.yield %v : f32
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] lists [3] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
  // expected-error @+1 {{'logitile.finish' op is at place 3, but list 0 has 3}}
  logitile.finish @f forward of @s list 0 place 3 results [] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] lists [3] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %a : f32
  } rank {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  }
  // expected-error @+1 {{'logitile.finish' op is at place 1, but of no list}}
  logitile.finish @f forward of @s place 1 results [] {
  ^bb0(%m: f32):
    logitile.yield
  }
}
