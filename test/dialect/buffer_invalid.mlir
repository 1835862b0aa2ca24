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
