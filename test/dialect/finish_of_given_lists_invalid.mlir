// RUN: %refused %s

logitile.program @a vocab 9 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op is of given lists but has no 'places', the length of each}}
  logitile.finish @f forward lists ["a.values", "a.indices"] results ["x" : f32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
}

// -----

logitile.program @a vocab 9 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op names 1 inputs of given lists; expected values and indices of 1 to 2}}
  logitile.finish @f forward lists ["a.values"] places 5 results ["x" : f32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
}

// -----

logitile.program @a vocab 9 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op is of given lists of 1025 places; a list has 1 to 1024}}
  logitile.finish @f forward lists ["a.values", "a.indices"] places 1025 results ["x" : f32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
}

// -----

logitile.program @a vocab 9 outputs [] indices [] checked [] {
  // expected-error @+1 {{'logitile.finish' op is at place 5, but the given lists have 5}}
  logitile.finish @f forward lists ["a.values", "a.indices"] places 5 place 5 results ["x" : f32] {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
}
