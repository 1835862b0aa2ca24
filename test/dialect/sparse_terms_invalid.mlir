// RUN: %refused %s

func.func @a(%tile: !logitile.tile<64x32xf32>, %column: !logitile.view<?xi32>, %i: index) {
  // expected-error @+1 {{'logitile.sparse_terms' op has 1 views of terms; columns and coefficients come in pairs}}
  %0 = logitile.sparse_terms add %tile, [%column] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>]
  return
}

// -----

func.func @a(%tile: !logitile.tile<64x32xf32>, %column: !logitile.view<?xi32>, %i: index) {
  // expected-error @+1 {{'logitile.sparse_terms' op term view 1 is '!logitile.view<?xi32>'; expected one f32 coefficient per token}}
  %0 = logitile.sparse_terms add %tile, [%column, %column] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xi32>]
  return
}

// -----

func.func @a(%tile: !logitile.tile<64x32xf32>, %column: !logitile.view<?x4xi32>, %coefficient: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.sparse_terms' op term view 0 is '!logitile.view<?x4xi32>'; expected one i32 column per token}}
  %0 = logitile.sparse_terms add %tile, [%column, %coefficient] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.view<?x4xi32>, !logitile.view<?xf32>]
  return
}

// -----

func.func @a(%tile: !logitile.tile<64x32xf32>, %added: !logitile.sparse_views, %i: index) {
  // expected-error @+1 {{'logitile.sparse_terms' op has terms ('!logitile.sparse_views', '!logitile.sparse_views'); expected one bundle of sparse_views, extracted_views or cleared_views, or views}}
  %0 = logitile.sparse_terms add %tile, [%added, %added] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.sparse_views, !logitile.sparse_views]
  return
}

// -----

func.func @a(%logits: !logitile.logits<TM x TN x acc>, %added: !logitile.sparse_views, %i: index) {
  // expected-error @+1 {{'logitile.sparse_terms' op 'tile' is '!logitile.logits<TM x TN x acc>', expected a bundle of grads}}
  %0 = logitile.sparse_terms add %logits, [%added] at [%i, %i] below %i : !logitile.logits<TM x TN x acc>, [!logitile.sparse_views]
  return
}

// -----

func.func @a(%grads: !logitile.grads<TM x TN x acc>, %column: !logitile.view<?xi32>, %coefficient: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.sparse_terms' op 'tile' is '!logitile.grads<TM x TN x acc>' but its terms are ('!logitile.view<?xi32>', '!logitile.view<?xf32>'); bundles meet bundles}}
  %0 = logitile.sparse_terms add %grads, [%column, %coefficient] at [%i, %i] below %i : !logitile.grads<TM x TN x acc>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
  return
}

// -----

func.func @a(%tile: !logitile.tile<64x32xf32>, %column: !logitile.view<?xi32>, %coefficient: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.sparse_terms' op 'tile' is '!logitile.tile<64x32xf32>' of 64 rows, expected 1}}
  %0 = logitile.sparse_terms sum %tile, [%column, %coefficient] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>]
  return
}

// -----

func.func @a(%tile: !logitile.tile<64x32xf32>, %coefficient: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.sparse_terms' op clears entries at '!logitile.view<?xf32>'; expected one i32 column per token}}
  %0 = logitile.sparse_terms clear %tile, [%coefficient] at [%i, %i] below %i : !logitile.tile<64x32xf32>, [!logitile.view<?xf32>]
  return
}
