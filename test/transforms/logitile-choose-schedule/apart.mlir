// A kernel that makes the logits of two projections has registers for tiles of 64 columns on an
// A100, and products take longer in them. So each projection has a kernel of its own, whose tiles
// are those of one projection, and the first sweep reads the logits that they store.
// RUN: sed 's/$HIDDEN/1024/g; s/$MODE/early/; s/$BYTES/1000000000/; s/$TARGET/cuda:sm_80/' %s | %schedule | FileCheck %s
// CHECK: logitile.schedule tokens {{.*}} stored 30000 {
// CHECK-DAG: logitile.buffer @stored_z {{.*}}: !logitile.view<?x30000xf32>
// CHECK-DAG: logitile.buffer @stored_t {{.*}}: !logitile.view<?x30000xf32>
// CHECK: logitile.launch "project_z" from @project<D = 1024, TK = 32, TM = 128, TN = 128, acc = f32, in = bf16, op = bf16> using mma_sync
// CHECK-SAME: views {hidden = @packed_z_rows, stored = @stored_z, weight = @z_weight}{{$}}
// CHECK-NEXT: logitile.launch "project_t" from @project<D = 1024, TK = 32, TM = 128, TN = 128, {{.*}} views {hidden = @packed_t_rows, stored = @stored_t, weight = @t_weight}{{$}}
// CHECK-NEXT: logitile.launch "products" from @sweep<GROUP = 1, TK = 32, TM = 32, TN = 64, acc = f32> sweep @products{{$}}
// CHECK: logitile.launch "z_weight" from @contract_weight<{{.*}} TN = 128,

// A part of the vocabulary, of which logits are stored. For the others, one kernel makes both, once
// more in the backward phase.
// RUN: sed 's/$HIDDEN/1024/g; s/$MODE/split/; s/$BYTES/400000000/; s/$TARGET/cuda:sm_80/' %s | %schedule | FileCheck %s --check-prefix=PART
// PART: logitile.launch "project_z_stored" from @project<{{.*}}} vocab_splits [0, [[END:[0-9]+]]]
// PART-NEXT: logitile.launch "project_t_stored" from @project<{{.*}}} vocab_splits [0, [[END]]]
// PART-NEXT: logitile.launch "products_stored" from @sweep<{{[^>]*}}> sweep @products vocab_splits [0, [[END]]]
// PART-NEXT: logitile.launch "products" from @sweep<{{[^>]*}}> using mma_sync sweep @products vocab_splits [[[END]],

// One kernel for both: where tensor cores are slow enough for narrow tiles; where the hidden axis
// is so short that reading the logits takes longer; where nothing is stored; and on CPUs, whose
// tiles are in caches.
// RUN: sed 's/$HIDDEN/1024/g; s/$MODE/early/; s/$BYTES/1000000000/; s/$TARGET/cuda:sm_89/' %s | %schedule | FileCheck %s --check-prefix=ONE
// RUN: sed 's/$HIDDEN/256/g; s/$MODE/early/; s/$BYTES/1000000000/; s/$TARGET/cuda:sm_80/' %s | %schedule | FileCheck %s --check-prefix=ONE
// RUN: sed 's/$HIDDEN/1024/g; s/$MODE/split/; s/$BYTES/60000000/; s/$TARGET/cuda:sm_80/' %s | %schedule | FileCheck %s --check-prefix=ONE
// RUN: sed 's/$HIDDEN/1024/g; s/$MODE/early/; s/$BYTES/1000000000/; s/$TARGET/cpu:avx512_bf16/' %s | %schedule | FileCheck %s --check-prefix=ONE
// ONE-NOT: from @project<
// ONE: logitile.launch "products" from @sweep<{{[^>]*}}> using
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = $HIDDEN, element = bf16>, <"t", hidden = $HIDDEN, element = bf16>], dense = {},
    gradients = [<hidden of "z">, <weight of "z">], mode = $MODE, tokens = 2048, workspace = $BYTES, chunks = 0, accumulate = false, target = "$TARGET", threads = 4>} {
  logitile.program @p vocab 30000 outputs [#logitile.output<"loss" : f32 is <@loss[0]>>] indices [] checked [] {
    logitile.sweep @products forward state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      %z = logitile.input logits "z" : f32
      %t = logitile.input logits "t" : f32
      %zt = arith.mulf %z, %t : f32
      %next = arith.addf %sum, %zt : f32
      logitile.yield %next : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      %both = arith.addf %a, %b : f32
      logitile.yield %both : f32
    }
    logitile.finish @loss forward of @products results ["loss" : f32] {
    ^bb0(%sum: f32):
      logitile.yield %sum : f32
    }
    logitile.gradient {
      %z = logitile.input logits "z" : f32
      %t = logitile.input logits "t" : f32
      %loss = logitile.known <@loss[0]> : f32
      %up = logitile.input cotangent "loss" : f32
      %zt = arith.mulf %z, %t : f32
      %near = arith.addf %zt, %loss : f32
      %d = arith.mulf %near, %up : f32
      logitile.adjoint logits "z" dense %d
    }
  }
}
