// RUN: %refused %s
// Ops without a name cannot be referred to.

func.func @a() {
  // expected-error @+1 {{is of a token input without a name}}
  %0 = logitile.input token "" : i32
  return
}

// -----

logitile.loss @a vocab 50 outputs ["loss"] gradient of ["loss"] wrt ["v"] {
  %v = logitile.input vocab "v" : f32
  %loss = logitile.reduce sum %v : f32 -> f32
  logitile.gradient {
    // expected-error @+1 {{is of a vocab input without a name}}
    logitile.adjoint vocab ""
  }
  logitile.yield %loss : f32
}

// -----

// expected-error @+1 {{has output without a name}}
logitile.loss @a vocab 50 outputs [""] {
  %one = arith.constant 1.0 : f32
  logitile.yield %one : f32
}

// -----

// expected-error @+1 {{an output has no name}}
func.func private @a() attributes {x = #logitile.output<"" : f32 is <@f[0]>>}

// -----

// expected-error @+1 {{a projection has no name}}
func.func private @a() attributes {x = #logitile.projection<"", hidden = 8, element = f32>}

// -----

// expected-error @+1 {{'gradients' asks for the input 'z', which is a projection; its operands are `hidden of "z"` and `weight of "z"`}}
func.func private @a() attributes {x = #logitile.request<projections = [#logitile.projection<"z", hidden = 8, element = f32>], dense = {},
    gradients = [<input of "z">], mode = early, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>}

// -----

// expected-error @+1 {{a gradient of part 'input' is of nothing; name a projection or an input}}
func.func private @a() attributes {x = #logitile.gradient<input of "">}
