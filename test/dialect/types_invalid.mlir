// RUN: %refused %s

// expected-error @+1 {{no type 'matrix' in dialect 'logitile'}}
func.func private @a(!logitile.matrix<4x4xf32>)

// -----

// Capitals make a word a dimension, small letters make it an element type.

// expected-error @+1 {{'TMxTNxacc' is neither a dimension (capitals) nor an element type (small letters); write spaces around 'x' next to a symbol, as in 'TM x TN x acc'}}
func.func private @a(!logitile.tile<TMxTNxacc>)

// -----

// expected-error @+1 {{'TNxf32' is neither a dimension (capitals) nor an element type (small letters); write spaces around 'x' next to a symbol, as in 'TM x TN x acc'}}
func.func private @a(!logitile.tile<128xTNxf32>)

// -----

// expected-error @+1 {{'Tm' is neither a dimension (capitals) nor an element type (small letters)}}
func.func private @a(!logitile.tile<Tm x 4 x f32>)

// -----

// expected-error @+1 {{expected a dimension (integer, '?' or a symbol) or an element type}}
func.func private @a(!logitile.tile<>)

// -----

// expected-error @+1 {{extent -4 must be positive}}
func.func private @a(!logitile.tile<4x-4xf32>)

// -----

// expected-error @+1 {{integer value too large}}
func.func private @a(!logitile.tile<99999999999999999999x1xf32>)

// -----

// Tiles.

// expected-error @+1 {{a tile has 2 dimensions, got 1; use 1 for an axis that it does not have}}
func.func private @a(!logitile.tile<4xf32>)

// -----

// expected-error @+1 {{an extent of a tile is an integer or a symbol, never '?'}}
func.func private @a(!logitile.tile<?x4xf32>)

// -----

// expected-error @+1 {{extent 0 must be positive}}
func.func private @a(!logitile.tile<0x4xf32>)

// -----

// expected-error @+1 {{element type 'vector<4xf32>' must be an integer, a float or a symbol}}
func.func private @a(!logitile.tile<4x4xvector<4xf32>>)

// -----

// Views.

// expected-error @+1 {{a view has 1 or 2 dimensions, got 3}}
func.func private @a(!logitile.view<?x?x?xf32>)

// -----

// expected-error @+1 {{extent 0 must be positive}}
func.func private @a(!logitile.view<?x0xf32>)

// -----

// expected-error @+1 {{element type 'index' must be an integer, a float or a symbol}}
func.func private @a(!logitile.view<?xindex>)

// -----

// expected-error @+1 {{no layout 'row_major'; expected strided, column_major, row_panels or column_panels}}
func.func private @a(!logitile.view<?x4xf32, row_major>)

// -----

// expected-error @+1 {{a view of 1 dimension has no layout 'column_major'}}
func.func private @a(!logitile.view<?xf32, column_major>)

// -----

// Bundles.

// expected-error @+1 {{expected '<'}}
func.func private @a(!logitile.row_state)

// -----

// expected-error @+1 {{expected '>'}}
func.func private @a(!logitile.row_state<TM x TN>)

// -----

// expected-error @+1 {{'logits' takes 2 dimensions, got 1}}
func.func private @a(!logitile.logits<TM x acc>)

// -----

// expected-error @+1 {{'logits' takes 2 dimensions, got 3}}
func.func private @a(!logitile.logits<TM x TN x TK x acc>)

// -----

// expected-error @+1 {{an extent of a tile is an integer or a symbol, never '?'}}
func.func private @a(!logitile.inputs<? x TN>)

// -----

// expected-error @+1 {{extent 0 must be positive}}
func.func private @a(!logitile.row_state<0>)

// -----

// expected-error @+1 {{element type 'none' must be an integer, a float or a symbol}}
func.func private @a(!logitile.grads<TM x TN x none>)

// -----

// Rounded elements.

// expected-error @+1 {{rounds 'f32' to itself; write 'f32'}}
func.func private @a(!logitile.view<8x8xf32 to f32>)

// -----

// expected-error @+1 {{cannot round 'f32' to 'i32'; both must be floats}}
func.func private @a(!logitile.rounded<f32 to i32>)

// -----

// expected-error @+1 {{element type '!logitile.rounded<f32 to bf16>' must be an integer, a float or a symbol}}
func.func private @a(!logitile.tile<8x8xf32 to bf16>)
