// RUN: %refused %s

func.func @a(%lhs: !logitile.view<?xf32>, %rhs: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract' op 'lhs' is '!logitile.view<?xf32>'; expected 2 dimensions}}
  %0 = logitile.contract %lhs, %rhs at [%i, %i] over [%i to %i] by 8 using rank_updates : !logitile.view<?xf32>, !logitile.view<300x24xf32> -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract' op 'rhs' is '!logitile.view<300xf32>'; expected 2 dimensions}}
  %0 = logitile.contract %lhs, %rhs at [%i, %i] over [%i to %i] by 8 using rank_updates : !logitile.view<?x300xf32>, !logitile.view<300xf32> -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<200x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract' op shared extent 300 of 'lhs' must equal shared extent 200 of 'rhs'}}
  %0 = logitile.contract %lhs, %rhs at [%i, %i] over [%i to %i] by 8 using rank_updates : !logitile.view<?x300xf32>, !logitile.view<200x24xf32> -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract' op shared extent ? of 'lhs' must equal shared extent 300 of 'rhs'}}
  %0 = logitile.contract %lhs transposed, %rhs at [%i, %i] over [%i to %i] by 8 using panels : !logitile.view<?x300xf32>, !logitile.view<300x24xf32> -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300x24xf32>, %plus: !logitile.view<?x32xf32>, %i: index, %b: i1) {
  // expected-error @+1 {{'logitile.contract' op columns 24 of 'rhs' must equal columns 32 of 'plus'}}
  %0 = logitile.contract %lhs, %rhs at [%i, %i] over [%i to %i] by 8 using rank_updates plus %plus when %b : !logitile.view<?x300xf32>, !logitile.view<300x24xf32> plus !logitile.view<?x32xf32> -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300x24xf32>, %plus: !logitile.view<24xf32>, %i: index, %b: i1) {
  // expected-error @+1 {{'logitile.contract' op 'plus' is '!logitile.view<24xf32>'; expected 2 dimensions}}
  %0 = logitile.contract %lhs, %rhs at [%i, %i] over [%i to %i] by 8 using rank_updates plus %plus when %b : !logitile.view<?x300xf32>, !logitile.view<300x24xf32> plus !logitile.view<24xf32> -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300x24xf32>, %i: index, %b: i1) {
  // expected-error @+1 {{'logitile.contract' op has 'when' without 'plus'}}
  %0 = "logitile.contract"(%lhs, %rhs, %i, %i, %i, %i, %b) <{depth = 8 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 1, 0>}> : (!logitile.view<?x300xf32>, !logitile.view<300x24xf32>, index, index, index, index, i1) -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300x24xf32>, %plus: !logitile.view<?x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract' op has 'plus' without 'when'}}
  %0 = "logitile.contract"(%lhs, %rhs, %i, %i, %i, %i, %plus) <{depth = 8 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0>}> : (!logitile.view<?x300xf32>, !logitile.view<300x24xf32>, index, index, index, index, !logitile.view<?x24xf32>) -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300x24xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract' op 'by' is -8, which must be positive}}
  %0 = "logitile.contract"(%lhs, %rhs, %i, %i, %i, %i) <{depth = -8 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>}> : (!logitile.view<?x300xf32>, !logitile.view<300x24xf32>, index, index, index, index) -> !logitile.tile<4x4xf32>
  return
}

// -----

func.func @a(%lhs: !logitile.view<?x300xf32>, %rhs: !logitile.view<300x24xf32>, %map: !logitile.view<?xf32>, %i: index) {
  // expected-error @+1 {{'logitile.contract' op 'map' is '!logitile.view<?xf32>'; expected one i32 per token}}
  %0 = logitile.contract %lhs, %rhs at [%i, %i] over [%i to %i] by 8 using rank_updates through %map : !logitile.view<?x300xf32>, !logitile.view<300x24xf32> through !logitile.view<?xf32> -> !logitile.tile<4x4xf32>
  return
}
