// RUN: %refused %s

func.func @a(%rows: !logitile.rows<TM>) {
  // expected-error @+1 {{'logitile.apply' op no hole '@reduce'; expected @update, @merge, @finish, @base or @gradient}}
  %0 = logitile.apply @reduce(%rows) : (!logitile.rows<TM>) -> !logitile.rows<TM>
  return
}

// -----

// Kinds.

func.func @a(%rows: !logitile.rows<TM>, %z: !logitile.logits<TM x TN x acc>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op '@update' takes (rows, logits, inputs), got ('!logitile.rows<TM>', '!logitile.logits<TM x TN x acc>')}}
  %0 = logitile.apply @update(%rows, %z) at %column below V : (!logitile.rows<TM>, !logitile.logits<TM x TN x acc>) -> !logitile.rows<TM>
  return
}

// -----

func.func @a(%rows: !logitile.rows<TM>, %in: !logitile.inputs<TM x 1>) {
  // expected-error @+1 {{'logitile.apply' op '@merge' takes (rows, rows, inputs), got ('!logitile.rows<TM>', '!logitile.inputs<TM x 1>', '!logitile.rows<TM>')}}
  %0 = logitile.apply @merge(%rows, %in, %rows) : (!logitile.rows<TM>, !logitile.inputs<TM x 1>, !logitile.rows<TM>) -> !logitile.rows<TM>
  return
}

// -----

func.func @a(%rows: !logitile.rows<TM>, %in: !logitile.inputs<TM x 1>) {
  // expected-error @+1 {{'logitile.apply' op '@finish' gives (results), got ('!logitile.rows<TM>')}}
  %0 = logitile.apply @finish(%rows, %in) : (!logitile.rows<TM>, !logitile.inputs<TM x 1>) -> !logitile.rows<TM>
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

func.func @a(%rows: !logitile.rows<TM>, %z: !logitile.logits<TM x TN x acc>, %in: !logitile.inputs<TM x TN>) {
  // expected-error @+1 {{'logitile.apply' op '@update' needs 'at' and 'below'}}
  %0 = logitile.apply @update(%rows, %z, %in) : (!logitile.rows<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.rows<TM>
  return
}

// -----

func.func @a(%rows: !logitile.rows<TM>, %in: !logitile.inputs<TM x 1>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op '@merge' takes no 'at' and no 'below'}}
  %0 = logitile.apply @merge(%rows, %rows, %in) at %column below V : (!logitile.rows<TM>, !logitile.rows<TM>, !logitile.inputs<TM x 1>) -> !logitile.rows<TM>
  return
}

// -----

func.func @a(%rows: !logitile.rows<TM>, %z: !logitile.logits<TM x TN x acc>, %in: !logitile.inputs<TM x TN>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op 'below' is 0, which must be positive}}
  %0 = logitile.apply @update(%rows, %z, %in) at %column below 0 : (!logitile.rows<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TN>) -> !logitile.rows<TM>
  return
}

// -----

// Extents.

func.func @a(%rows: !logitile.rows<TM>, %other: !logitile.rows<TN>, %in: !logitile.inputs<TM x 1>) {
  // expected-error @+1 {{'logitile.apply' op '@merge' meets '!logitile.rows<TM>' and '!logitile.rows<TN>', which differ in their tokens}}
  %0 = logitile.apply @merge(%rows, %other, %in) : (!logitile.rows<TM>, !logitile.rows<TN>, !logitile.inputs<TM x 1>) -> !logitile.rows<TM>
  return
}

// -----

func.func @a(%rows: !logitile.rows<TM>, %in: !logitile.inputs<TM x 1>) {
  // expected-error @+1 {{'logitile.apply' op '@finish' meets '!logitile.rows<TM>' and '!logitile.results<TN>', which differ in their tokens}}
  %0 = logitile.apply @finish(%rows, %in) : (!logitile.rows<TM>, !logitile.inputs<TM x 1>) -> !logitile.results<TN>
  return
}

// -----

func.func @a(%rows: !logitile.rows<TM>, %z: !logitile.logits<TM x TN x acc>, %in: !logitile.inputs<TM x TM>, %column: index) {
  // expected-error @+1 {{'logitile.apply' op '@update' meets '!logitile.inputs<TM x TM>'; expected the columns of its logits, or 1 without logits}}
  %0 = logitile.apply @update(%rows, %z, %in) at %column below V : (!logitile.rows<TM>, !logitile.logits<TM x TN x acc>, !logitile.inputs<TM x TM>) -> !logitile.rows<TM>
  return
}

// -----

func.func @a(%rows: !logitile.rows<TM>, %in: !logitile.inputs<TM x TN>) {
  // expected-error @+1 {{'logitile.apply' op '@finish' meets '!logitile.inputs<TM x TN>'; expected the columns of its logits, or 1 without logits}}
  %0 = logitile.apply @finish(%rows, %in) : (!logitile.rows<TM>, !logitile.inputs<TM x TN>) -> !logitile.results<TM>
  return
}
