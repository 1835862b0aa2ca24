// Random numbers in code: products of 32 by 32 bits in lanes on CPUs, and in the instructions that
// GPUs have for them. On CPUs, the loop over columns computes the four words of a block at its
// first column, and reads one of them at each.

// RUN: sed 's/$TARGET/cpu:avx512/' %s | logitile-compile --to=llvm | FileCheck %s --check-prefix=CPU
// CPU-LABEL: define {{.*}}@forward0(
// CPU: br i1
// CPU-COUNT-19: mul <16 x i64>
// CPU-NOT: mul <16 x i64>
// CPU-COUNT-4: store <16 x i32>
// CPU: load <16 x i32>
// CPU: uitofp <16 x i32> %{{.*}} to <16 x float>

// RUN: sed 's/$TARGET/cuda:sm_80/' %s | logitile-compile --to=ptx | FileCheck %s --check-prefix=GPU
// GPU: .entry forward0(
// GPU-DAG: mul.wide.u32
// GPU-DAG: cvt.rn.f32.u32
// GPU-NOT: .extern .func

// The index of a token has no buffer of its own: kernels read the map of tokens that count.
// RUN: sed 's/$TARGET/cuda:sm_80/' %s | logitile-compile --to=plan | FileCheck %s --check-prefix=PLAN
// PLAN: logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
// PLAN: logitile.buffer {{.*}} call input of "seed"
// PLAN-NOT: call input
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 64, element = f32>], dense = {},
    gradients = [], mode = forward, tokens = 4096, workspace = 268435456, chunks = 0, accumulate = false,
    target = "$TARGET", threads = 2>} {
  logitile.loss @draw vocab 8000 outputs ["index"] {
    %z = logitile.input logits "z" : f32
    %seed = logitile.input scalar "seed" : i32
    %token = logitile.input token_index : i32
    %column = logitile.column : i32
    %u = logitile.uniform %seed, %seed, %token, %column : f32
    %x = arith.addf %z, %u : f32
    %index = logitile.reduce argmax %x : f32 -> i32
    logitile.yield %index : i32
  }
}
