// Everything that a program may have, in the order in which it runs: prologue; sweeps and their
// finishes, the last of which needs the cotangent; sweeps that need it; the gradient with its fused
// sweep; finishes of that; sums over the tokens.
// RUN: %schedule %s | FileCheck %s
// CHECK: logitile.schedule
// The logits are kept: later sweeps, as the gradient, read them where they are.
// CHECK-DAG: logitile.buffer @stored_z chunk stored of "z"
// CHECK-DAG: logitile.buffer @known_early call result of @prologue[0]
// CHECK-DAG: logitile.buffer @known_down chunk result of @after_second[1]
// CHECK-DAG: logitile.buffer @known_gradient_b call result of @after_fused[0]
// CHECK-DAG: logitile.buffer @q call input of "q" : !logitile.view<300xf32>
// CHECK-DAG: logitile.buffer @s call input of "s" : !logitile.view<1xf32>
// CHECK-DAG: logitile.buffer @d input input of "d" : !logitile.view<?x300xbf16>
// CHECK-DAG: logitile.buffer @map_d call input_map of "d" : !logitile.view<?xi32>
// CHECK-DAG: logitile.buffer @blocks_q chunk input_blocks of "q" per 512 : !logitile.view<?x300xf32>
// CHECK-DAG: logitile.buffer @sum_q call input_sum of "q" : !logitile.view<1x300xf32>
// CHECK-DAG: logitile.buffer @gradient_d output input_gradient of "d" : !logitile.view<?x300xbf16>
// CHECK: logitile.run prologue {
// CHECK-NEXT: logitile.launch "prologue" from @finish
// CHECK-NEXT: }
// CHECK-NEXT: logitile.run forward {
// CHECK-NEXT: logitile.launch "pack_z_rows"
// CHECK-NEXT: logitile.launch "first" from @sweep<{{[^>]*}}> using panels sweep @first store
// CHECK-NEXT: logitile.launch "after_first" from @finish<{{.*}} sweep @first
// CHECK-NEXT: logitile.launch "second" from @sweep<{{[^>]*}}> sweep @second
// CHECK-NEXT: logitile.launch "after_second" from @finish<{{.*}} sweep @second
// CHECK-NEXT: logitile.launch "third" from @sweep<{{[^>]*}}> sweep @third
// CHECK-NEXT: logitile.launch "after_third" from @finish<{{.*}} sweep @third
// CHECK-NEXT: logitile.launch "gradient" from @gradient<{{[^>]*}}> sweep @fused vocab_splits
// CHECK-NEXT: logitile.launch "z_hidden" from @contract_hidden
// CHECK-NEXT: logitile.launch "after_fused" from @finish<{{.*}} sweep @fused
// CHECK-NEXT: logitile.launch "sum_q" from @sum_blocks
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {d = bf16},
    gradients = [<hidden of "z">, <input of "b">, <input of "q">, <input of "d">], mode = early, tokens = 100, workspace = 100000000, chunks = 0,
    accumulate = false, target = "cpu:avx2", threads = 1>} {
  logitile.program @p vocab 300 outputs [#logitile.output<"loss" : f32 is <@after_second[0]>>] indices [] checked [] {
    logitile.finish @prologue prologue results ["early" : f32] {
      %s = logitile.input scalar "s" : f32
      logitile.yield %s : f32
    }
    logitile.sweep @first forward state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      %z = logitile.input logits "z" : f32
      logitile.yield %z : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      logitile.yield %b : f32
    }
    logitile.finish @after_first forward of @first results ["x" : f32] {
    ^bb0(%sum: f32):
      %early = logitile.known <@prologue[0]> : f32
      %x = arith.addf %sum, %early : f32
      logitile.yield %x : f32
    }
    logitile.sweep @second forward state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      %z = logitile.input logits "z" : f32
      %x = logitile.known <@after_first[0]> : f32
      %next = arith.mulf %z, %x : f32
      logitile.yield %next : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      logitile.yield %b : f32
    }
    logitile.finish @after_second forward of @second results ["loss" : f32] {
    ^bb0(%sum: f32):
      logitile.yield %sum : f32
    }
    logitile.finish @coefficients backward results ["down" : f32] {
      %up = logitile.input cotangent "loss" : f32
      logitile.yield %up : f32
    }
    logitile.sweep @third backward state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      %z = logitile.input logits "z" : f32
      %down = logitile.known <@coefficients[0]> : f32
      %next = arith.mulf %z, %down : f32
      logitile.yield %next : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      logitile.yield %b : f32
    }
    logitile.finish @after_third backward of @third results ["total" : f32] {
    ^bb0(%sum: f32):
      logitile.yield %sum : f32
    }
    logitile.sweep @fused fused state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      %q = logitile.input vocab "q" : f32
      logitile.yield %q : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      logitile.yield %b : f32
    }
    logitile.gradient {
      %z = logitile.input logits "z" : f32
      %d = logitile.input dense "d" : f32
      %total = logitile.known <@after_third[0]> : f32
      %zt = arith.mulf %z, %total : f32
      %zd = arith.mulf %z, %d : f32
      logitile.adjoint logits "z" dense %zt
      logitile.adjoint vocab "q" dense %zd
      logitile.adjoint dense "d" dense %z
    }
    logitile.finish @after_fused fused of @fused results ["gradient.b" : f32] {
    ^bb0(%sum: f32):
      logitile.yield %sum : f32
    }
    logitile.gradient {
      %b = logitile.known <@after_fused[0]> : f32
      logitile.adjoint token "b" dense %b
    }
  }
}
