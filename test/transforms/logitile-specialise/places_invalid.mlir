// RUN: %refused --logitile-specialise %s

// What a launch names has no place in its template, or does not belong together.

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results [] {
    logitile.yield
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names a finish, for which template @round has no place}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = f32> finish @f
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op makes a part, for which template @pack has no place}}
      logitile.launch "k" from @pack<TM = 64, D = 24, in = f32, op = f32> part
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @x call input of "x" : !logitile.view<300x24xf32>
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op gives a buffer for 'sourcee', for which template @round has no place}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = f32> views {sourcee = @x, out = @x}
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
  logitile.finish @f forward of @s results [] {
  ^bb0(%m: f32):
    logitile.yield
  }
  logitile.finish @g forward results [] {
    logitile.yield
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names no sweep, but finish @f is of sweep @s}}
      logitile.launch "k" from @finish<TM = 64> finish @f
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
  logitile.finish @g forward results [] {
    logitile.yield
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names sweep @s, but finish @g is of no sweep}}
      logitile.launch "k" from @finish<TM = 64> sweep @s finish @g
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["m" : f32] init {
    %c = arith.constant 0.0 : f32
    logitile.yield %c : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%m: f32):
    logitile.yield %m : f32
  } merge {
  ^bb0(%ma: f32, %mb: f32):
    logitile.yield %ma : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names a sweep, for which template @pack has no place}}
      logitile.launch "k" from @pack<TM = 64, D = 24, in = f32, op = f32> sweep @s
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op adds to what is there, for which template @round has no place}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = f32> accumulate tokens
    }
  }
}

// -----

logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.run forward {
      // expected-error @+1 {{'logitile.launch' op names vocabulary splits, for which template @round has no place}}
      logitile.launch "k" from @round<TN = 64, TD = 8, D = 24, in = f32, tile = f32, out = f32> vocab_splits [0, 1]
    }
  }
}
