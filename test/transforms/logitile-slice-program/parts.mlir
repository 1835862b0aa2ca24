// What each part of a slice keeps of a program. State of sweeps that are merged already is read,
// and what follows from it is made in the prologue, as far as anything reads it.

// RUN: sed 's/$PART/sweep, sweep = 0/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=FIRST
// FIRST: logitile.program @p vocab 100 columns 40 sweeps [2, 1] outputs [#logitile.output<"forward0.pick" : f32 is <@state[0]>, state = true>] indices ["t"] checked [#logitile.result<@finish0[0]>] {
// FIRST-NEXT: logitile.finish @finish0 prologue results ["next" : i32]
// FIRST: logitile.sweep @forward0 forward state ["pick" : f32]
// FIRST: logitile.finish @state forward of @forward0 results ["forward0.pick" : f32] {
// FIRST-NEXT: ^bb0(%[[PICK:.*]]: f32):
// FIRST-NEXT: logitile.yield %[[PICK]] : f32
// FIRST-NOT: logitile.{{sweep|finish|gradient}}

// RUN: sed 's/$PART/sweep, sweep = 1/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=SECOND
// SECOND: outputs [#logitile.output<"forward1.sum" : f32 is <@state[0]>, state = true>] indices ["t"] checked [#logitile.result<@finish0[0]>] {
// SECOND: logitile.finish @finish0 prologue
// SECOND: logitile.finish @finish1 prologue results ["picked" : f32] {
// SECOND-NEXT: %[[PICK:.*]] = logitile.input token "forward0.pick" : f32
// SECOND-NEXT: logitile.yield %[[PICK]] : f32
// SECOND: logitile.sweep @forward1 forward
// SECOND: logitile.finish @state forward of @forward1
// SECOND-NOT: logitile.{{sweep|finish|gradient}}

// A backward sweep reads cotangents, which belong to the outputs.
// RUN: sed 's/$PART/sweep, sweep = 2/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=ADJOINT
// ADJOINT: outputs [#logitile.output<"loss" : f32 is <@finish2[0]>>, #logitile.output<"backward0.total" : f32 is <@state[0]>, state = true>]
// ADJOINT: logitile.finish @finish2 prologue results ["loss" : f32] {
// ADJOINT-NEXT: logitile.input token "forward1.sum" : f32
// ADJOINT: logitile.finish @finish3 backward results ["up" : f32]
// ADJOINT: logitile.sweep @backward0 backward
// ADJOINT: logitile.finish @state backward of @backward0 results ["backward0.total" : f32]
// ADJOINT-NOT: logitile.{{sweep|finish|gradient}}

// RUN: sed 's/$PART/merge, sweep = 1/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=MERGE
// MERGE: outputs [#logitile.output<"forward1.sum" : f32 is <@merged[0]>, state = true>] indices ["t"] checked [] {
// MERGE-NEXT: logitile.finish @finish1 prologue results ["picked" : f32]
// MERGE: logitile.finish @merged prologue results ["forward1.sum" : f32] {
// MERGE-NEXT: %[[A:.*]] = logitile.input token "first.forward1.sum" : f32
// MERGE-NEXT: %[[B:.*]] = logitile.input token "second.forward1.sum" : f32
// MERGE-NEXT: %[[PICKED:.*]] = logitile.known <@finish1[0]> : f32
// MERGE-NEXT: %[[BOTH:.*]] = arith.addf %[[A]], %[[B]] : f32
// MERGE-NEXT: %[[SUM:.*]] = arith.addf %[[BOTH]], %[[PICKED]] : f32
// MERGE-NEXT: logitile.yield %[[SUM]] : f32
// MERGE-NOT: logitile.{{sweep|finish|gradient}}

// RUN: sed 's/$PART/finish, sweep = 0/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=FINISH
// FINISH: outputs [#logitile.output<"loss" : f32 is <@finish2[0]>>] indices ["t"] checked [] {
// FINISH-NEXT: logitile.finish @finish2 prologue results ["loss" : f32] {
// FINISH-NOT: logitile.{{sweep|finish|gradient}}

// RUN: sed 's/$PART/gradient, sweep = 0/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=GRADIENT
// GRADIENT: outputs [#logitile.output<"loss" : f32 is <@finish2[0]>>]
// GRADIENT: logitile.finish @finish3 backward results ["up" : f32]
// GRADIENT: logitile.finish @finish4 backward results ["row" : f32] {
// GRADIENT-NEXT: logitile.input token "backward0.total" : f32
// GRADIENT-NOT: logitile.sweep
// GRADIENT: logitile.gradient

// A loss without sweeps has nothing to run on a slice, and nothing to merge; its outputs come at
// the end.
// RUN: sed 's/$PART/sweep, sweep = 0/' %S/Inputs/no_sweep.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=EMPTY
// EMPTY: logitile.program @p vocab 100 columns 40 sweeps [0, 0] outputs [] indices [] checked [] {
// EMPTY-NEXT: }
// RUN: sed 's/$PART/finish, sweep = 0/' %S/Inputs/no_sweep.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=OUTPUTS
// OUTPUTS: sweeps [0, 0] outputs [#logitile.output<"loss" : f32 is <@finish0[0]>>] indices [] checked [] {
// OUTPUTS-NEXT: logitile.finish @finish0 prologue results ["loss" : f32] {
