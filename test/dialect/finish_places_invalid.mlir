// RUN: %refused %s

func.func @sum_to_a_list(%a: !logitile.view<?x8xf32>, %out: !logitile.view<?x8xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_places' op gives results to '!logitile.view<?x8xf32>'; expected a view of f32 with one value per token}}
  logitile.finish_places %a at %i tokens 64 places 8 reads [1] summed to %out : !logitile.view<?x8xf32> to !logitile.view<?x8xf32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @list_to_a_vector(%a: !logitile.view<?x8xf32>, %out: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_places' op gives results to '!logitile.view<?xf32>'; expected a view with a column for each place}}
  logitile.finish_places %a at %i tokens 64 places 8 reads [1] to %out : !logitile.view<?x8xf32> to !logitile.view<?xf32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @other_length(%a: !logitile.view<?x9xf32>, %out: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_places' op reads a list in '!logitile.view<?x9xf32>'; expected a view with a column for each of 8 places}}
  logitile.finish_places %a at %i tokens 64 places 8 reads [1] summed to %out : !logitile.view<?x9xf32> to !logitile.view<?xf32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @no_table(%a: !logitile.view<?x8xi32>, %out: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_places' op has 'reads' [2] of 1 views; expected 1 to 3 for each list}}
  logitile.finish_places %a at %i tokens 64 places 8 reads [2] summed to %out : !logitile.view<?x8xi32> to !logitile.view<?xf32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @unread(%a: !logitile.view<?x8xf32>, %out: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_places' op has 'reads' [1] of 2 views}}
  logitile.finish_places %a, %a at %i tokens 64 places 8 reads [1] summed to %out : !logitile.view<?x8xf32>, !logitile.view<?x8xf32> to !logitile.view<?xf32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @too_long(%a: !logitile.view<?x5000xf32>, %out: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_places' op 'places' is 5000; a list that is read has 1 to 4096}}
  logitile.finish_places %a at %i tokens 64 places 5000 reads [1] summed to %out : !logitile.view<?x5000xf32> to !logitile.view<?xf32> {
  ^bb0(%x: f32):
    logitile.yield %x : f32
  }
  return
}

// -----

func.func @no_reads(%out: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.finish_places' op needs 'places', the length of its lists, 'reads', a view for each result, and a region}}
  logitile.finish_places at %i tokens 64 places 8 summed to %out to !logitile.view<?xf32> {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  }
  return
}
