// RUN: %refused %s

logitile.kernel @numbers(%count: index from tokens, %flags: !logitile.view<?xf32> from @raised) {
  scf.forall (%row) = (0) to (%count) step (64) {
    // expected-error @+1 {{'logitile.any_token' op 'flags' is '!logitile.view<?xf32>'; expected a view of i32 with one dimension}}
    %any = logitile.any_token %flags at %row tokens 64 below %count : !logitile.view<?xf32>
  }
}

// -----

logitile.kernel @none(%count: index from tokens, %flags: !logitile.view<?xi32> from @raised) {
  scf.forall (%row) = (0) to (%count) step (64) {
    // expected-error @+1 {{'logitile.any_token' op}}
    %any = logitile.any_token %flags at %row tokens 0 below %count : !logitile.view<?xi32>
  }
}
