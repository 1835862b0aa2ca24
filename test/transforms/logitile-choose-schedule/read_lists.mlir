// What a sweep picks has memory with a column for each place, in which tokens are neighbours;
// finishes of places are launches of their own.
// RUN: sed 's/$TARGET/cpu:avx2/; s/$MODE/early/' %s | %schedule | FileCheck %s
// CHECK: logitile.schedule
// CHECK-DAG: logitile.buffer @i call input of "i" : !logitile.view<?x64xi32, column_major>
// CHECK-DAG: logitile.buffer @picked_s_0 chunk row_pick of @s[0] : !logitile.view<?x64xf32, column_major>
// CHECK-DAG: logitile.buffer @known_sum call result of @sum[0] : !logitile.view<?xf32>
// CHECK-DAG: logitile.buffer @known_row chunk result of @rows[0] : !logitile.view<?x64xf32, column_major>
// CHECK: logitile.launch "s" from @sweep<
// CHECK-NEXT: logitile.launch "sum" from @finish_places<{{.*}}> finish @sum
// CHECK-NEXT: logitile.launch "rows" from @finish_places<{{.*}}> finish @rows

// Where gradients are made apart, what was picked is saved for them.
// RUN: sed 's/$TARGET/cuda:sm_80/; s/$MODE/split/' %s | %schedule | FileCheck %s --check-prefix=SPLIT
// SPLIT: logitile.buffer @picked_s_0 saved row_pick of @s[0]
// SPLIT: logitile.run forward {
// SPLIT: from @finish_places<{{.*}}> finish @sum
// SPLIT: logitile.run backward {
// SPLIT: from @finish_places<{{.*}}> finish @rows

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [<hidden of "z">],
    mode = $MODE, tokens = 64, workspace = 10000000, chunks = 0, accumulate = false, target = "$TARGET", threads = 1>} {
  logitile.program @p vocab 1000 outputs [#logitile.output<"loss" : f32 is <@sum[0]>>] indices ["i"] checked [] {
    logitile.sweep @s forward state [] picks [#logitile.pick<"z" at "i" places 64>] init {
      logitile.yield
    } candidate {
      logitile.yield
    } update {
      logitile.yield
    } merge {
      logitile.yield
    }
    logitile.finish @sum forward places 64 summed results ["sum" : f32] {
      %z = logitile.picked <@s[0]> : f32
      %square = arith.mulf %z, %z : f32
      logitile.yield %square : f32
    }
    logitile.finish @rows backward places 64 results ["row" : f32] {
      %up = logitile.input cotangent "loss" : f32
      %z = logitile.picked <@s[0]> : f32
      %row = arith.mulf %z, %up : f32
      logitile.yield %row : f32
    }
    logitile.gradient {
      %i = logitile.input token "i" places 64 : i32
      %row = logitile.known <@rows[0]> : f32
      logitile.adjoint logits "z" sparse [%i -> %row]
    }
  }
}
