// RUN: %refused %s

func.func @of_floats(%a: !logitile.view<?x8xf32>, %b: !logitile.view<?x8xf32>, %g: !logitile.view<?x100xbf16>, %i: index) {
  // expected-error @+1 {{'logitile.scatter_terms' op has terms in '!logitile.view<?x8xf32>' and '!logitile.view<?x8xf32>'; expected views of i32 and f32 with a column for each of the same number of places}}
  logitile.scatter_terms [%a, %b] to %g at [%i, %i] tokens 64 columns 32 : [!logitile.view<?x8xf32>, !logitile.view<?x8xf32>] to !logitile.view<?x100xbf16>
  return
}

// -----

func.func @to_a_vector(%a: !logitile.view<?x8xi32>, %b: !logitile.view<?x8xf32>, %g: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.scatter_terms' op adds to ('!logitile.view<?xf32>'); expected one matrix}}
  logitile.scatter_terms [%a, %b] to %g at [%i, %i] tokens 64 columns 32 : [!logitile.view<?x8xi32>, !logitile.view<?x8xf32>] to !logitile.view<?xf32>
  return
}

// -----

func.func @half_a_template(%a: !logitile.listed_views, %g: !logitile.view<?x100xf32>, %i: index) {
  // expected-error @+1 {{'logitile.scatter_terms' op takes ('!logitile.listed_views') to ('!logitile.view<?x100xf32>'); expected listed_views to grad_views}}
  logitile.scatter_terms [%a] to %g at [%i, %i] tokens 64 columns 32 : [!logitile.listed_views] to !logitile.view<?x100xf32>
  return
}
