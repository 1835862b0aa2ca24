// RUN: %refused %s

func.func @a(%tile: !logitile.tile<32x24xf32>, %column: !logitile.view<?xi32>, %coefficient: !logitile.view<?xf32>, %rhs: !logitile.view<24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract_sparse' op 'rhs' is '!logitile.view<24xf32>'; expected 2 dimensions}}
  %0 = logitile.contract_sparse %tile, [%column, %coefficient], %rhs at [%i, %i] below %i : !logitile.tile<32x24xf32>, [!logitile.view<?xi32>, !logitile.view<?xf32>], !logitile.view<24xf32>
  return
}

// -----

func.func @a(%tile: !logitile.tile<32x24xf32>, %column: !logitile.view<?xi32>, %rhs: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract_sparse' op has 1 views of terms; columns and coefficients come in pairs}}
  %0 = logitile.contract_sparse %tile, [%column], %rhs at [%i, %i] below %i : !logitile.tile<32x24xf32>, [!logitile.view<?xi32>], !logitile.view<300x24xf32>
  return
}

// -----

func.func @a(%tile: !logitile.tile<32x24xf32>, %coefficient: !logitile.view<?xf32>, %rhs: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract_sparse' op term view 0 is '!logitile.view<?xf32>'; expected one i32 column per token}}
  %0 = logitile.contract_sparse %tile, [%coefficient, %coefficient], %rhs at [%i, %i] below %i : !logitile.tile<32x24xf32>, [!logitile.view<?xf32>, !logitile.view<?xf32>], !logitile.view<300x24xf32>
  return
}

// -----

func.func @a(%tile: !logitile.tile<32x24xf32>, %rows: !logitile.state_views, %rhs: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract_sparse' op has terms ('!logitile.state_views'); expected one bundle of sparse_views, extracted_views or cleared_views, or views}}
  %0 = logitile.contract_sparse %tile, [%rows], %rhs at [%i, %i] below %i : !logitile.tile<32x24xf32>, [!logitile.state_views], !logitile.view<300x24xf32>
  return
}

// -----

func.func @a(%tile: !logitile.tile<32x24xf32>, %rhs: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract_sparse' op failed to verify that all of {tile, result} have same type}}
  %0 = "logitile.contract_sparse"(%tile, %rhs, %i, %i, %i) : (!logitile.tile<32x24xf32>, !logitile.view<300x24xf32>, index, index, index) -> !logitile.tile<16x24xf32>
  return
}
