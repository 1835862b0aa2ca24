// A list has a place in memory for each entry that it keeps, and a launch of its own puts it in
// order. On CPUs a task goes through a group of the 9 vocabulary splits, which share a list; on
// GPUs each vocabulary split has its own.
// RUN: sed 's/$TARGET/cpu:avx2/' %s | %schedule | FileCheck %s
// CHECK: logitile.schedule {{.*}} vocab_split 120 stored 0 {
// CHECK-DAG: logitile.buffer @list_best_0 chunk row_list of @best[0] : !logitile.view<?x15xi64>
// CHECK-DAG: logitile.buffer @known_values call result of @top[0] : !logitile.view<?x5xf32>
// CHECK-DAG: logitile.buffer @known_indices call result of @top[1] : !logitile.view<?x5xi32>
// CHECK: logitile.launch "best" from @sweep<GROUP = 3, {{.*}}> using panels sweep @best
// CHECK-NEXT: logitile.launch "top" from @finish_list<{{.*}}> sweep @best finish @top

// RUN: sed 's/$TARGET/cuda:sm_80/' %s | %schedule | FileCheck %s --check-prefix=GPU
// GPU: logitile.buffer @list_best_0 chunk row_list of @best[0]
// GPU: logitile.launch "best" from @sweep<
// GPU-NEXT: logitile.launch "top" from @finish_list<

module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {}, gradients = [],
    mode = forward, tokens = 64, workspace = 10000000, chunks = 0, accumulate = false, target = "$TARGET", threads = 1>} {
  logitile.program @p vocab 1000 outputs [#logitile.output<"values" : f32 is <@top[0]>>, #logitile.output<"indices" : i32 is <@top[1]>>] indices [] checked [] {
    logitile.sweep @best forward state [] lists [5] init {
      logitile.yield
    } candidate {
      logitile.yield
    } update {
      logitile.yield
    } merge {
      logitile.yield
    } rank {
      %z = logitile.input logits "z" : f32
      logitile.yield %z : f32
    }
    logitile.finish @top forward of @best list 0 results ["values" : f32, "indices" : i32] {
    ^bb0(%value: f32, %index: i32):
      logitile.yield %value, %index : f32, i32
    }
  }
}
