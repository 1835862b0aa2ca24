// RUN: %refused %s

// expected-error @+1 {{'logitile.buffer' op expects parent op 'logitile.schedule'}}
logitile.buffer @x call input of "x" : !logitile.view<?xf32>

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op 'x' is '!logitile.view<? x D x f32>', which has symbol 'D'; a schedule has everything bound}}
    logitile.buffer @x call input of "x" : !logitile.view<? x D x f32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op 'x' has a window of 0 columns; expected a positive number}}
    logitile.buffer @x chunk input of "x" window 0 : !logitile.view<?x5xf32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op 'x' has -4 tokens to a row; expected a positive number}}
    logitile.buffer @x call input of "x" per -4 : !logitile.view<?xf32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op 'x' has 4 tokens to a row, but the rows of '!logitile.view<5xf32>' are no tokens}}
    logitile.buffer @x call input of "x" per 4 : !logitile.view<5xf32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op attribute 'type' failed to satisfy constraint: type attribute of a view: memory of the caller or of the workspace}}
    logitile.buffer @x call input of "x" : !logitile.tile<4x4xf32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op @map has role 'token_map', which belongs to the call and takes no owner}}
    logitile.buffer @map call token_map of "z" : !logitile.view<?xi32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op @max has role 'row_state', which needs a part of the program and a number: 'of @part[0]'}}
    logitile.buffer @max chunk row_state of @s : !logitile.view<1x?xf32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op @z has role 'stored', which needs the name of its owner in quotes}}
    logitile.buffer @z chunk stored : !logitile.view<?x5xf32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op @z has role 'stored', which takes no number; only those of inputs, sweeps and finishes do}}
    logitile.buffer @z chunk stored of "z"[0] : !logitile.view<?x5xf32>
  }
}

// -----

logitile.program @a vocab 5 outputs [] indices [] checked [] {
  logitile.sweep @s forward along "z" state ["count" : i32] init {
    %zero = arith.constant 0 : i32
    logitile.yield %zero : i32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%count: i32):
    logitile.yield %count : i32
  } merge {
  ^bb0(%a: i32, %b: i32):
    %sum = arith.addi %a, %b : i32
    logitile.yield %sum : i32
  }
  logitile.schedule tokens [0, 16) vocab_split 5 stored 0 {
    // expected-error @+1 {{'logitile.buffer' op is of number 1, but @s has 1 slots of row state}}
    logitile.buffer @count chunk row_state of @s[1] : !logitile.view<1x?xi32>
  }
}
