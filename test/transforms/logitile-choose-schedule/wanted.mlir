// Only what is asked for is made.

// Outputs of a program without a gradient: one sweep, and logits that are kept nowhere.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS//; /logitile.gradient/,/^    }/d; s/$PLAN/mode = forward, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=FORWARD
// FORWARD: stored 0 {
// FORWARD-NOT: stored of
// FORWARD-NOT: logit_gradient of
// FORWARD: logitile.run forward {
// FORWARD-NEXT: logitile.launch "pack_z_rows"
// FORWARD-NEXT: logitile.launch "squares" from @sweep<{{.*}}> using panels sweep @squares{{$}}
// FORWARD-NEXT: logitile.launch "loss"
// FORWARD-NEXT: }
// FORWARD-NEXT: }

// The gradient of hidden alone: nothing is packed for the other one.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=HIDDEN
// HIDDEN-NOT: "packed.z.columns"
// HIDDEN-NOT: "gradient.z.weight"
// HIDDEN: logitile.launch "z_hidden" from @contract_hidden<{{.*}}weight = @z_weight}
// HIDDEN-NEXT: }

// That of the weight, added to what the caller's buffer holds.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = true/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=WEIGHT
// WEIGHT-NOT: "gradient.z.hidden"
// WEIGHT: logitile.launch "z_weight" from @contract_weight<{{.*}} accumulate always{{$}}
// WEIGHT-NEXT: }
