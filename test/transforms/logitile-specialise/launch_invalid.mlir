// RUN: %refused --logitile-specialise %s

// What a launch names does not exist. A schedule whose template was removed fails here.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names template @sort, which does not exist}}
      logitile.launch "k" from @sort<TM = 64>
    }
  }
}

// -----

// expected-error @+1 {{'logitile.program' op has no schedule; run logitile-choose-schedule first}}
logitile.program @p vocab 300 outputs [] indices [] checked [] {
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names sweep @s, which the program does not have}}
      logitile.launch "k" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> sweep @s
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names finish @f, which the program does not have}}
      logitile.launch "k" from @finish<TM = 64> finish @f
    }
  }
}

// -----

// A sweep is no finish.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results [] {
    logitile.yield
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names sweep @f, which the program does not have}}
      logitile.launch "k" from @finish<TM = 64> sweep @f
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op makes a gradient, but the program has none}}
      logitile.launch "k" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.gradient {
    logitile.adjoint vocab "bias"
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names input 'bais', of which the program makes no gradient}}
      logitile.launch "k" from @sum_blocks<TM = 64, TN = 32, acc = f32> input "bais"
    }
  }
}
