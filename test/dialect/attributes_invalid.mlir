// RUN: %refused %s

// Pairs.

// expected-error @+1 {{hidden size 0 of projection 'z' must be positive}}
func.func private @a() attributes {x = #logitile.projection<"z", hidden = 0, element = f32>}

// -----

// expected-error @+1 {{hidden size 36028797018963968 of projection 'z' is too large; 2147418112 is the most}}
func.func private @a() attributes {x = #logitile.projection<"z", hidden = 36028797018963968, element = f32>}

// -----

// expected-error @+1 {{element type 'f64' of projection 'z' must be f32, bf16 or f16}}
func.func private @a() attributes {x = #logitile.projection<"z", hidden = 8, element = f64>}

// -----

// expected-error @+1 {{element type 'f64' of projection 'z' must be f32, bf16 or f16}}
func.func private @a() attributes {x = #logitile.projection<"z", hidden = 8, element = bf16, memory = [f32, f64]>}

// -----

// expected-error @+1 {{expected ','}}
func.func private @a() attributes {x = #logitile.projection<"z", hidden = 8, element = bf16, memory = [f32]>}

// -----

// Outputs.

// expected-error @+1 {{type 'i64' of output 'best' must be f32, i32 or i1}}
func.func private @a() attributes {x = #logitile.output<"best" : i64 is <@f[0]>>}

// -----

// Dimensions.

// expected-error @+1 {{'tm' is no name of a dimension; dimensions are words in capitals}}
func.func private @a() attributes {x = #logitile.dim<"tm">}

// -----

// Requests.

// expected-error @+1 {{'tokens' is -1, which is negative}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = -1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{one of 'workspace' (0) and 'chunks' (0) must be positive and the other 0}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1, workspace = 0, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{one of 'workspace' (1024) and 'chunks' (2) must be positive and the other 0}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1, workspace = 1024, chunks = 2, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{one of 'workspace' (-1024) and 'chunks' (2) must be positive and the other 0}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1, workspace = -1024, chunks = 2, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{'projections' names 'z' twice}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>, <"z", hidden = 4, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{'threads' is 0, which must be positive}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 0>} {}

// -----

// expected-error @+1 {{mode 'forward' makes no gradients, but 'gradients' asks for hidden of 'z'}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [<hidden of "z">], mode = forward, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{'gradients' asks for weight of 't', which is no projection}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [<weight of "t">], mode = early, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{'gradients' asks for hidden of 'z' twice}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [<hidden of "z">, <hidden of "z" : f32>], mode = early, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{'p' has 16 : i64, which is not a type}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {p = 16}, gradients = [], mode = forward, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>} {}

// -----

// expected-error @+1 {{a slice of 0 columns; it must have at least one}}
func.func private @a() attributes {x = #logitile.slice<columns = 0, part = finish, sweep = 0>}

// -----

// expected-error @+1 {{sweep -1 of a slice; sweeps are numbered from 0}}
func.func private @a() attributes {x = #logitile.slice<columns = 1, part = sweep, sweep = -1>}

// -----

// The attribute of a module that must be a request.

// expected-error @+1 {{'builtin.module' op has attribute 'logitile.request' of 3 : i64, expected a #logitile.request}}
module attributes {logitile.request = 3} {}

// -----

// expected-error @+1 {{'func.func' op has attribute 'logitile.request', which belongs to modules}}
func.func private @a() attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1>}

// -----

// Words.

// expected-error @+2 {{expected ::logitile::Mode to be one of: forward, early, split}}
// expected-error @+1 {{failed to parse Logitile_ModeAttr parameter 'value' which is to be a `::logitile::Mode`}}
func.func private @a() attributes {x = #logitile<mode backward>}

// -----

// expected-error @+1 {{'tiles' has "TM" = 0 : i64, which is not a positive integer}}
module attributes {logitile.request = #logitile.request<projections = [<"z", hidden = 8, element = f32>], dense = {}, gradients = [], mode = forward, tokens = 1, workspace = 1, chunks = 0, accumulate = false, target = "cpu:avx2", threads = 1, tiles = {TM = 0}>} {}
