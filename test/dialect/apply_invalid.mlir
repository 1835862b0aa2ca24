// RUN: %refused %s

func.func @a(%rows: !logitile.row_state<TM>) {
  // expected-error @+1 {{'logitile.apply' op no hole '@reduce'; expected @update, @merge, @finish, @base or @gradient}}
  %0 = logitile.apply @reduce(%rows) : (!logitile.row_state<TM>) -> !logitile.row_state<TM>
  return
}

// -----

// Kinds.

func.func @a(%rows: !logitile.row_state<TM>, %z: !logitile.logits<TM x TN x acc>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op '@update' takes (row_state, logits, inputs), got ('!logitile.row_state<TM>', '!logitile.logits<TM x TN x acc>')}}
  %0 = logitile.apply @update(%rows, %z) at %column below V : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>) -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %in: !logitile.inputs<TM x 1>) {
  // expected-error @+1 {{'logitile.apply' op '@merge' takes (row_state, row_state, inputs), got ('!logitile.row_state<TM>', '!logitile.inputs<TM x 1>', '!logitile.row_state<TM>')}}
  %0 = logitile.apply @merge(%rows, %in, %rows) : (!logitile.row_state<TM>, !logitile.inputs<TM x 1>, !logitile.row_state<TM>) -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %in: !logitile.inputs<TM x 1>) {
  // expected-error @+1 {{'logitile.apply' op '@finish' gives (results), got ('!logitile.row_state<TM>')}}
  %0 = logitile.apply @finish(%rows, %in) : (!logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%z: !logitile.logits<TM x TN x acc>, %in: !logitile.inputs<TM x TN>, %centres: !logitile.centres<TM>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op '@gradient' gives (grads, vocab_grads, dense_grads), got ('!logitile.grads<TM x TN x acc>')}}
  %0 = logitile.apply @gradient(%z, %in, %centres) at %column below V : (!logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>, !logitile.centres<TM>) -> !logitile.grads<TM x TN x acc>
  return
}

// -----

// The column.

func.func @a(%rows: !logitile.row_state<TM>, %z: !logitile.logits<TM x TN x acc>, %in: !logitile.inputs<TM x TN>) {
  // expected-error @+1 {{'logitile.apply' op '@update' needs 'at' and 'below'}}
  %0 = logitile.apply @update(%rows, %z, %in) : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %in: !logitile.inputs<TM x 1>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op '@merge' takes no 'at' and no 'below'}}
  %0 = logitile.apply @merge(%rows, %rows, %in) at %column below V : (!logitile.row_state<TM>, !logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %z: !logitile.logits<TM x TN x acc>, %in: !logitile.inputs<TM x TN>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op 'below' is 0, which must be positive}}
  %0 = logitile.apply @update(%rows, %z, %in) at %column below 0 : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.row_state<TM>
  return
}

// -----

// Extents.

func.func @a(%rows: !logitile.row_state<TM>, %other: !logitile.row_state<TN>, %in: !logitile.inputs<TM x 1>) {
  // expected-error @+1 {{'logitile.apply' op '@merge' meets '!logitile.row_state<TM>' and '!logitile.row_state<TN>', which differ in their tokens}}
  %0 = logitile.apply @merge(%rows, %other, %in) : (!logitile.row_state<TM>, !logitile.row_state<TN>, !logitile.inputs<TM x 1>) -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %in: !logitile.inputs<TM x 1>) {
  // expected-error @+1 {{'logitile.apply' op '@finish' meets '!logitile.row_state<TM>' and '!logitile.results<TN>', which differ in their tokens}}
  %0 = logitile.apply @finish(%rows, %in) : (!logitile.row_state<TM>, !logitile.inputs<TM x 1>) -> !logitile.results<TN>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %z: !logitile.logits<TM x TN x acc>, %in: !logitile.inputs<TM x TM>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op '@update' meets '!logitile.inputs<TM x TM>'; expected the columns of its logits, or 1 without logits}}
  %0 = logitile.apply @update(%rows, %z, %in) at %column below V : (!logitile.row_state<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TM>) -> !logitile.row_state<TM>
  return
}

// -----

func.func @a(%rows: !logitile.row_state<TM>, %in: !logitile.inputs<TM x TN>) {
  // expected-error @+1 {{'logitile.apply' op '@finish' meets '!logitile.inputs<TM x TN>'; expected the columns of its logits, or 1 without logits}}
  %0 = logitile.apply @finish(%rows, %in) : (!logitile.row_state<TM>, !logitile.inputs<TM x TN>) -> !logitile.results<TM>
  return
}
