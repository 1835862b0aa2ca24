// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.program @a
logitile.program @a vocab 300 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 16) vocab_split 100 stored 0 {
    logitile.buffer @x call input of "x" : !logitile.view<?xf32>
    logitile.run forward {
      // CHECK: logitile.launch "bare" from @pack<>{{$}}
      logitile.launch "bare" from @pack<>
      // Bindings are sorted by name.
      // CHECK-NEXT: logitile.launch "bound" from @pack<TM = 32, in = bf16, op = f32>
      logitile.launch "bound" from @pack<TM = 32, op = f32, in = bf16>
      // CHECK-NEXT: logitile.launch "sweep" from @sweep<TM = 32> using panels sweep @s finish @f store
      logitile.launch "sweep" from @sweep<TM = 32> using panels sweep @s finish @f store
      // CHECK-NEXT: logitile.launch "gradient" from @contract_hidden<TM = 32> using panels input "z" views {grad = @x, out = @x} vocab_splits [1, 3] accumulate vocab_splits {note}
      logitile.launch "gradient" from @contract_hidden<TM = 32> using panels input "z" views {out = @x, grad = @x} vocab_splits [1, 3] accumulate vocab_splits {note}
      // CHECK-NEXT: logitile.launch "tokens" from @pack<> accumulate tokens
      logitile.launch "tokens" from @pack<> accumulate tokens
      // CHECK-NEXT: logitile.launch "always" from @pack<> accumulate always
      logitile.launch "always" from @pack<> accumulate always
      // CHECK-NEXT: logitile.launch "never" from @pack<>{{$}}
      logitile.launch "never" from @pack<> accumulate never
    }
  }
}
