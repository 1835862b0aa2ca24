// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @every_hole(
// CHECK-SAME: %[[ROWS:.*]]: !logitile.row_state<TM>, %[[Z:.*]]: !logitile.logits<TM x TN x acc>, %[[IN:.*]]: !logitile.inputs<TM x TN>,
// CHECK-SAME: %[[ROW_IN:.*]]: !logitile.inputs<TM x 1>, %[[CENTRES:.*]]: !logitile.centres<TM>, %[[COLUMN:.*]]: index)
func.func @every_hole(%rows: !logitile.row_state<TM>, %z: !logitile.logits<TM x TN x acc>, %in: !logitile.inputs<TM x TN>,
                      %row_in: !logitile.inputs<TM x 1>, %centres: !logitile.centres<TM>, %column: index) {
  // CHECK-NEXT: %{{.*}} = logitile.apply @update(%[[ROWS]], %[[Z]], %[[IN]]) at %[[COLUMN]] below V : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.row_state<TM>
  %0 = logitile.apply @update(%rows, %z, %in) at %column below V : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.row_state<TM>
  // CHECK-NEXT: %{{.*}} = logitile.apply @merge(%[[ROWS]], %[[ROWS]], %[[ROW_IN]]) : (!logitile.row_state<TM>, !logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.row_state<TM>
  %1 = logitile.apply @merge(%rows, %rows, %row_in) : (!logitile.row_state<TM>, !logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.row_state<TM>
  // CHECK-NEXT: %{{.*}} = logitile.apply @finish(%[[ROWS]], %[[ROW_IN]]) : (!logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.results<TM>
  %2 = logitile.apply @finish(%rows, %row_in) : (!logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.results<TM>
  // CHECK-NEXT: %{{.*}}:3 = logitile.apply @gradient(%[[Z]], %[[IN]], %[[CENTRES]]) at %[[COLUMN]] below 300 {note} : (!logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>, !logitile.centres<TM>) -> (!logitile.grads<TM x TN x acc>, !logitile.vocab_grads<TM x TN x acc>, !logitile.dense_grads<TM x TN x acc>)
  %3:3 = logitile.apply @gradient(%z, %in, %centres) at %column below 300 {note} : (!logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>, !logitile.centres<TM>) -> (!logitile.grads<TM x TN x acc>, !logitile.vocab_grads<TM x TN x acc>, !logitile.dense_grads<TM x TN x acc>)
  // CHECK-NEXT: %{{.*}}:2 = logitile.apply @base(%[[ROWS]], %[[Z]], %[[IN]]) at %[[COLUMN]] below V : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> (!logitile.bases<TM x TN x acc>, !logitile.centres<TM>)
  %4:2 = logitile.apply @base(%rows, %z, %in) at %column below V : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> (!logitile.bases<TM x TN x acc>, !logitile.centres<TM>)
  return
}
