// Kernels that multiply f32 on sm_90a hold the sums of a block in registers, beside the sums of all
// tiles: these have fewer columns.
// DEFINE: %{schedule} = sed -e 's/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/cpu:avx2/cuda:sm_90a/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/' %S/Inputs/square.mlir
// RUN: %{schedule} | sed -e 's/$ELEMENT/f32/' | %schedule | FileCheck %s --check-prefix=ONE
// ONE: logitile.launch "squares" from @sweep<{{.*}}TN = 128,

// Two tiles at a time, of the logits and of a Dense input.
// RUN: %{schedule} | sed -e 's/$ELEMENT/f32/; s/dense = {}/dense = {d = f32}/; s/%z = logitile.input logits.*/&\n      %dense = logitile.input dense "d" : f32/' | %schedule | FileCheck %s --check-prefix=TWO
// TWO: logitile.launch "squares" from @sweep<{{.*}}TN = 64,

// More that the user names is refused; operands of 16 bits may have them.
// RUN: %{schedule} | sed -e 's/$ELEMENT/f32/; s/threads = 4/threads = 4, tiles = {TN = 256}/' | not %schedule 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: 'logitile.program' op cannot have tiles of TN=256 columns: where float32 is multiplied on 'cuda:sm_90a', registers have room for 128 (tiles that a kernel holds: 1); take TN=128 or less
// RUN: %{schedule} | sed -e 's/$ELEMENT/bf16/; s/threads = 4/threads = 4, tiles = {TN = 256}/' | %schedule | FileCheck %s --check-prefix=HALVES
// HALVES: logitile.launch "squares" from @sweep<{{.*}}TN = 256,

// The rounds of random numbers need registers as well.
// RUN: %{schedule} | sed -e 's/$ELEMENT/bf16/; s/%zz = arith.mulf %z, %z : f32/%i = arith.constant 1 : i32\n      %u = logitile.uniform %i, %i, %i, %i : f32\n      %zz = arith.mulf %z, %u : f32/' | %schedule | FileCheck %s --check-prefix=ONE
// RUN: %{schedule} | sed -e 's/$ELEMENT/bf16/' | %schedule | FileCheck %s --check-prefix=OTHERS
// OTHERS: logitile.launch "squares" from @sweep<{{.*}}TN = 192,
