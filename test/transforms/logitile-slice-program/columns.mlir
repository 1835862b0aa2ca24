// Kernels count columns from the start of a slice; the loss counts those of the whole vocabulary.

// A comparison moves its other side, so that a pick is still seen to be one entry's.
// RUN: sed 's/$PART/sweep, sweep = 0/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=PICK
// PICK: %[[COLUMN:.*]] = logitile.column : i32
// PICK-NEXT: %[[NEXT:.*]] = logitile.known <@finish0[0]> : i32
// PICK-NEXT: %[[OFFSET:.*]] = logitile.input slice_offset : i32
// PICK-NEXT: %[[LOCAL:.*]] = arith.subi %[[NEXT]], %[[OFFSET]] : i32
// PICK-NEXT: arith.cmpi eq, %[[COLUMN]], %[[LOCAL]] : i32

// RUN: sed 's/$PART/sweep, sweep = 1/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=ORDER
// ORDER: %[[COLUMN:.*]] = logitile.column : i32
// ORDER-NEXT: %[[OFFSET:.*]] = logitile.input slice_offset : i32
// ORDER-NEXT: %[[GLOBAL:.*]] = arith.addi %[[COLUMN]], %[[OFFSET]] : i32
// ORDER: arith.cmpi sgt, %[[GLOBAL]],

// Sparse terms of other slices get a column that no kernel finds. Equal columns are made once.
// RUN: sed 's/$PART/gradient, sweep = 0/' %S/Inputs/two_sweeps.mlir | logitile-opt --logitile-slice-program | FileCheck %s --check-prefix=ROWS
// ROWS: logitile.finish @local_columns backward results ["local.0" : i32, "local.1" : i32] {
// ROWS-NEXT: %[[NEXT:.*]] = logitile.known <@finish0[0]> : i32
// ROWS-NEXT: %[[OFFSET:.*]] = logitile.input slice_offset : i32
// ROWS-NEXT: %[[LOCAL:.*]] = arith.subi %[[NEXT]], %[[OFFSET]] : i32
// ROWS-NEXT: %[[COLUMNS:.*]] = arith.constant 40 : i32
// ROWS-NEXT: %[[INSIDE:.*]] = arith.cmpi ult, %[[LOCAL]], %[[COLUMNS]] : i32
// ROWS-NEXT: %[[NONE:.*]] = arith.constant 2147483647 : i32
// ROWS-NEXT: %[[FIRST:.*]] = arith.select %[[INSIDE]], %[[LOCAL]], %[[NONE]] : i32
// ROWS: %[[SECOND:.*]] = arith.select
// ROWS-NEXT: logitile.yield %[[FIRST]], %[[SECOND]] : i32, i32
// ROWS: logitile.gradient {
// ROWS-DAG: %[[A:.*]] = logitile.known <@local_columns[0]> : i32
// ROWS-DAG: %[[B:.*]] = logitile.known <@local_columns[1]> : i32
// ROWS: logitile.adjoint logits "z" dense %{{.*}} sparse [%[[A]] -> %{{.*}}, %[[B]] -> %{{.*}}]
// ROWS: %[[C:.*]] = logitile.known <@local_columns[1]> : i32
// ROWS: logitile.adjoint vocab "bias" sparse [%[[C]] -> %{{.*}}]
