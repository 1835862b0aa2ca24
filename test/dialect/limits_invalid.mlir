// RUN: %refused %s
// Numbers so large that products with them overflow, or that memory cannot be allocated.

// expected-error @+1 {{vocabulary size 2147418113 is too large; 2147418112 is the most}}
logitile.loss @a vocab 2147418113 outputs ["loss"] {
  %one = arith.constant 1.0 : f32
  logitile.yield %one : f32
}

// -----

// expected-error @+1 {{vocabulary size 2147418113 is too large; 2147418112 is the most}}
logitile.program @a vocab 2147418113 outputs [] indices [] checked [] {
}

// -----

func.func @a() {
  // expected-error @+1 {{index 65536 of token 'targets' is too large; 65535 is the largest}}
  %0 = logitile.input token "targets"[65536] : i32
  return
}

// -----

// expected-error @+1 {{extent 16385 is too large; 16384 is the most}}
func.func private @a(!logitile.tile<16385x1xf32>)

// -----

// expected-error @+1 {{a tile of 16384 x 65 elements is too large; 1048576 are the most}}
func.func private @a(!logitile.tile<16384x65xf32>)

// -----

// expected-error @+1 {{extent 2147418113 is too large; 2147418112 is the most}}
func.func private @a(!logitile.view<?x2147418113xf32>)

// -----

// expected-error @+1 {{hidden size 2147418113 of projection 'z' is too large; 2147418112 is the most}}
func.func private @a() attributes {x = #logitile.projection<"z", hidden = 2147418113, element = f32>}

// -----

// expected-error @+1 {{a slice of 2147418113 columns; 2147418112 are the most}}
func.func private @a() attributes {x = #logitile.slice<columns = 2147418113, part = sweep, sweep = 1>}

// -----

// expected-error @+1 {{'tokens' is 2147483648; 2147483647 are the most}}
func.func private @a() attributes {x = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 2147483648, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>}

// -----

// expected-error @+1 {{'chunks' is 2147483648; 2147483647 are the most}}
func.func private @a() attributes {x = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 1, workspace = 0, chunks = 2147483648, accumulate = false, target = "cpu:avx2", threads = 1>}

// -----

// expected-error @+1 {{'threads' is 65537; 65536 are the most}}
func.func private @a() attributes {x = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 65537>}

// -----

// expected-error @+1 {{'tiles' has "TM" = 16385; 16384 is the most}}
func.func private @a() attributes {x = #logitile.request<projections = [], dense = {}, gradients = [], mode = forward,
    tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1, tiles = {TM = 16385}>}

// -----

logitile.program @a vocab 50 outputs [] indices [] checked [] {
  logitile.schedule tokens [0, 10) vocab_split 50 stored 0 {
    // expected-error @+1 {{'b' has a window of 1 columns and 2147418113 tokens to a row; 2147418112 is the most of either}}
    logitile.buffer @b chunk input of "b" per 2147418113 : !logitile.view<?x50xf32>
  }
}

// -----

logitile.kernel @a(%n: index from tokens, %x: !logitile.view<?x64xf32> from @x, %w: !logitile.view<64x64xf32> from @w) {
  scf.forall (%row) = (0) to (%n) step (64) {
    %zero = arith.constant 0 : index
    // expected-error @+1 {{'by' is 2147418113; 2147418112 is the most}}
    %z = logitile.project %x, %w at [%row, %zero] by 2147418113 using dot_products : !logitile.view<?x64xf32>, !logitile.view<64x64xf32> -> !logitile.tile<64x64xf32>
  }
}
