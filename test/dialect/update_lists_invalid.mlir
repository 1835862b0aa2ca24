// RUN: %refused %s

func.func @a(%lists: !logitile.state_views, %z: !logitile.logits<TM x TN x acc>, %i: index) {
  // expected-error @+1 {{'logitile.update_lists' op takes '!logitile.state_views'; expected list_views}}
  logitile.update_lists %lists with (%z : !logitile.logits<TM x TN x acc>) at [%i, %i, %i] from %i tokens TM : !logitile.state_views
  return
}

// -----

func.func @a(%lists: !logitile.list_views, %z: !logitile.logits<TM x TN x acc>, %i: index) {
  // expected-error @+1 {{'logitile.update_lists' op has a region in a template}}
  logitile.update_lists %lists with (%z : !logitile.logits<TM x TN x acc>) at [%i, %i, %i] from %i tokens TM : !logitile.list_views {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_lists' op has no region for its lists}}
  logitile.update_lists %list with (%z : !logitile.tile<64x32xf32>) at [%i, %i, %i] from %i tokens 64 places [50] : !logitile.view<?x100xi64>
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi32>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_lists' op has a list in '!logitile.view<?x100xi32>'; expected a view of i64 with 2 dimensions}}
  logitile.update_lists %list with (%z : !logitile.tile<64x32xf32>) at [%i, %i, %i] from %i tokens 64 places [50] : !logitile.view<?x100xi32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_lists' op has 1 lists but 'places' of 2}}
  logitile.update_lists %list with (%z : !logitile.tile<64x32xf32>) at [%i, %i, %i] from %i tokens 64 places [50, 50] : !logitile.view<?x100xi64> {
  ^bb0(%x: f32):
    logitile.yield %x, %x : f32, f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %z: !logitile.tile<64x32xf32>, %i: index) {
  // expected-error @+1 {{'logitile.update_lists' op has a list of 1025 places; a list has 1 to 1024}}
  logitile.update_lists %list with (%z : !logitile.tile<64x32xf32>) at [%i, %i, %i] from %i tokens 64 places [1025] : !logitile.view<?x100xi64> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @a(%list: !logitile.view<?x100xi64>, %z: !logitile.tile<64x32xf32>, %i: index) {
  logitile.update_lists %list with (%z : !logitile.tile<64x32xf32>) at [%i, %i, %i] from %i tokens 64 places [50] : !logitile.view<?x100xi64> {
  ^bb0(%x: f32):
    %c = logitile.column : i32
    // expected-error @+1 {{'logitile.yield' op of 'rank' gives ('i32'), expected ('f32')}}
    logitile.yield %c : i32
  }
  return
}
