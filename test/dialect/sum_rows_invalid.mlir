// RUN: %refused %s

func.func @a(%x: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.sum_rows' op 'view' is '!logitile.view<?xf32>'; expected 2 dimensions}}
  %0 = logitile.sum_rows %x at %i below %i : !logitile.view<?xf32> -> !logitile.tile<1x64xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?x300xf32>, %i: index) {
  // expected-error @+1 {{'logitile.sum_rows' op 'result' is '!logitile.tile<4x64xf32>' of 4 rows, expected 1}}
  %0 = logitile.sum_rows %x at %i below %i : !logitile.view<?x300xf32> -> !logitile.tile<4x64xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?x300xf32>, %plus: !logitile.view<1x200xf32>, %i: index, %b: i1) {
  // expected-error @+1 {{'logitile.sum_rows' op columns 300 of 'view' must equal columns 200 of 'plus'}}
  %0 = logitile.sum_rows %x at %i below %i plus %plus when %b : !logitile.view<?x300xf32> plus !logitile.view<1x200xf32> -> !logitile.tile<1x64xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?x300xf32>, %plus: !logitile.view<300xf32>, %i: index, %b: i1) {
  // expected-error @+1 {{'logitile.sum_rows' op 'plus' is '!logitile.view<300xf32>'; expected 2 dimensions}}
  %0 = logitile.sum_rows %x at %i below %i plus %plus when %b : !logitile.view<?x300xf32> plus !logitile.view<300xf32> -> !logitile.tile<1x64xf32>
  return
}

// -----

func.func @a(%x: !logitile.view<?x300xf32>, %i: index, %b: i1) {
  // expected-error @+1 {{'logitile.sum_rows' op has 'when' without 'plus'}}
  %0 = "logitile.sum_rows"(%x, %i, %i, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>}> : (!logitile.view<?x300xf32>, index, index, i1) -> !logitile.tile<1x64xf32>
  return
}
