// RUN: %refused %s

func.func @a(%list: !logitile.view<?x100xi64>, %v: !logitile.view<?x50xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_list' op has no region for its lists}}
  logitile.finish_list %list at %i tokens 64 splits 2 places 50 to %v : !logitile.view<?x100xi64> to !logitile.view<?x50xf32>
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %v: !logitile.view<?x50xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_list' op needs 'places', the length of its list}}
  logitile.finish_list %list at %i tokens 64 splits 2 to %v : !logitile.view<?x100xi64> to !logitile.view<?x50xf32> {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %v: !logitile.view<?x50xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_list' op gives results to '!logitile.view<?x50xf32>'; expected a view with a column for each of 40 places}}
  logitile.finish_list %list at %i tokens 64 splits 2 places 40 to %v : !logitile.view<?x100xi64> to !logitile.view<?x50xf32> {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %v: !logitile.view<?x50xf32>, %i: index) {
  logitile.finish_list %list at %i tokens 64 splits 2 places 50 to %v : !logitile.view<?x100xi64> to !logitile.view<?x50xf32> {
  ^bb0(%value: f32, %index: i32):
    // expected-error @+1 {{'logitile.column' op stands in 'finish', which has no 'at'}}
    %c = logitile.column : i32
    logitile.yield %value : f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %v: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_list' op 'place' is 50, but the list has 50 places}}
  logitile.finish_list %list at %i tokens 64 splits 2 places 50 place 50 to %v : !logitile.view<?x100xi64> to !logitile.view<?xf32> {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %v: !logitile.view<?x50xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_list' op gives results at one place to '!logitile.view<?x50xf32>'; expected a view with one value per token}}
  logitile.finish_list %list at %i tokens 64 splits 2 places 50 place 0 to %v : !logitile.view<?x100xi64> to !logitile.view<?x50xf32> {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x50xi64>, %a: !logitile.view<?x50xf32>, %v: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_list' op has indices of a given list in '!logitile.view<?x50xi64>'; expected a view of 'i32' with a column for each of 50 places}}
  logitile.finish_list %a, %list at %i tokens 64 splits 1 places 50 place 0 to %v : !logitile.view<?x50xf32>, !logitile.view<?x50xi64> to !logitile.view<?xf32> {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
  return
}

// -----

func.func @a(%a: !logitile.view<?x50xf32>, %b: !logitile.view<?x50xi32>, %v: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_list' op takes 2 views of given lists, but 'splits' is 2; each has values and indices, and 2 lists are the most}}
  logitile.finish_list %a, %b at %i tokens 64 splits 2 places 50 place 0 to %v : !logitile.view<?x50xf32>, !logitile.view<?x50xi32> to !logitile.view<?xf32> {
  ^bb0(%value: f32, %index: i32):
    logitile.yield %value : f32
  }
  return
}
