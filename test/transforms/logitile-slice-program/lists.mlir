// The list of a slice is a part of its state, by the columns of the whole vocabulary. Places that a
// short slice has no entry for say so.
// RUN: sed 's/$PART/sweep, sweep = 0/' %S/Inputs/lists.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=SWEEP
// SWEEP: outputs [#logitile.output<"forward0.list0.values" : f32 is <@list_state0[0]>, state = true>, #logitile.output<"forward0.list0.indices" : i32 is <@list_state0[1]>, state = true>]
// SWEEP: logitile.sweep @forward0 forward state [] lists [5]
// SWEEP: logitile.finish @list_state0 forward of @forward0 list 0 results ["forward0.list0.values" : f32, "forward0.list0.indices" : i32] {
// SWEEP-NEXT: ^bb0(%[[VALUE:.*]]: f32, %[[COLUMN:.*]]: i32):
// SWEEP-NEXT: %[[NONE:.*]] = arith.constant -1 : i32
// SWEEP-NEXT: %[[LEAST:.*]] = arith.constant 0xFF800000 : f32
// SWEEP-NEXT: %[[IS_ENTRY:.*]] = arith.cmpi sgt, %[[COLUMN]], %[[NONE]] : i32
// SWEEP-NEXT: %[[OFFSET:.*]] = logitile.input slice_offset : i32
// SWEEP-NEXT: %[[INDEX:.*]] = arith.addi %[[COLUMN]], %[[OFFSET]] : i32
// SWEEP-NEXT: %[[A:.*]] = arith.select %[[IS_ENTRY]], %[[VALUE]], %[[LEAST]] : f32
// SWEEP-NEXT: %[[B:.*]] = arith.select %[[IS_ENTRY]], %[[INDEX]], %[[NONE]] : i32
// SWEEP-NEXT: logitile.yield %[[A]], %[[B]] : f32, i32
// SWEEP-NOT: logitile.finish

// RUN: sed 's/$PART/merge, sweep = 0/' %S/Inputs/lists.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=MERGE
// MERGE: outputs [#logitile.output<"forward0.list0.values" : f32 is <@merged_list0[0]>, state = true>, #logitile.output<"forward0.list0.indices" : i32 is <@merged_list0[1]>, state = true>] indices [] checked [] {
// MERGE-NEXT: logitile.finish @merged_list0 prologue lists ["first.forward0.list0.values", "first.forward0.list0.indices", "second.forward0.list0.values", "second.forward0.list0.indices"] places 5 results [
// MERGE-NEXT: ^bb0(%[[VALUE:.*]]: f32, %[[INDEX:.*]]: i32):
// MERGE-NEXT: logitile.yield %[[VALUE]], %[[INDEX]] : f32, i32
// MERGE-NOT: logitile.{{finish|sweep}}

// A later sweep reads what the merged list has at a place.
// RUN: sed 's/$PART/sweep, sweep = 1/' %S/Inputs/lists.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=NEXT
// NEXT: logitile.finish @third prologue lists ["forward0.list0.values", "forward0.list0.indices"] places 5 place 2 results ["third" : f32] {
// NEXT-NOT: logitile.finish @top
// NEXT: logitile.sweep @forward1

// RUN: sed 's/$PART/finish, sweep = 0/' %S/Inputs/lists.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=FINISH
// FINISH: logitile.finish @top prologue lists ["forward0.list0.values", "forward0.list0.indices"] places 5 results ["values" : f32] {
// FINISH: logitile.finish @after prologue results ["loss" : f32] {
// FINISH-NEXT: logitile.input token "forward1.sum" : f32

// A merge has its lists in memory with the tokens as neighbours, and no heap.
// RUN: sed 's/$PART/merge, sweep = 0/' %S/Inputs/lists.mlir | logitile-opt --logitile-slice-program --logitile-choose-schedule | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE-DAG: logitile.buffer @first_forward0_list0_values call input of "first.forward0.list0.values" : !logitile.view<?x5xf32, column_major>
// SCHEDULE-DAG: logitile.buffer @second_forward0_list0_indices call input of "second.forward0.list0.indices" : !logitile.view<?x5xi32, column_major>
// SCHEDULE-NOT: row_list
// SCHEDULE: logitile.launch "merged_list0" from @finish_list<{{.*}}> finish @merged_list0
