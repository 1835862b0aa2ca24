// RUN: %refused --logitile-specialise %s

// A finish of places takes a template that finishes places.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @g forward places 8 results ["r" : f32] {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @r chunk result of @g[0] : !logitile.view<?x8xf32, column_major>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names finish @g, which is of places; its template finishes tokens}}
      logitile.launch "k" from @finish<TM = 64> finish @g
    }
  }
}
