// RUN: %refused %s

// expected-error @+1 {{'logitile.kernel' op argument 0 of type 'index' needs a role after 'from'}}
logitile.kernel @a(%count: index) {
}

// -----

// expected-error @+1 {{'logitile.kernel' op argument 0 is of type '!logitile.tile<4x4xf32>'; expected a view, index or i1}}
logitile.kernel @a(%x: !logitile.tile<4x4xf32> from @x) {
}

// -----

// expected-error @+1 {{'logitile.kernel' op has a value of type '!logitile.weights'; a kernel has no bundles}}
logitile.kernel @a(%weights: !logitile.weights) {
}

// -----

// expected-error @+1 {{'logitile.kernel' op uses symbol 'D' in '!logitile.view<? x D x f32>'; a kernel has everything bound}}
logitile.kernel @a(%x: !logitile.view<? x D x f32> from @x) {
}

// -----

logitile.kernel @a(%x: !logitile.view<?x4xf32> from @x) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'logitile.load' op uses symbol 'TM' in '!logitile.tile<TM x 4 x f32>'; a kernel has everything bound}}
  %tile = logitile.load %x at [%zero, %zero] : !logitile.view<?x4xf32> -> !logitile.tile<TM x 4 x f32>
}

// -----

logitile.kernel @a(%count: index from tokens) {
  // expected-error @+1 {{'logitile.param' op belongs to templates; a kernel has everything bound}}
  %tm = logitile.param TM
}

// -----

logitile.kernel @a(%hidden: !logitile.view<?x8xf32> from @h, %weight: !logitile.view<16x8xf32> from @w) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'logitile.project' op belongs to templates; a kernel has everything bound}}
  %z = logitile.project %hidden, %weight at [%zero, %zero] by TK : !logitile.view<?x8xf32>, !logitile.view<16x8xf32> -> !logitile.tile<4x4xf32>
}

// -----

// The syntax of arguments.

// expected-error @+1 {{'count' is neither a scalar of a launch nor the role of a buffer}}
logitile.kernel @a(%count: index from count) {
}

// -----

// expected-error @+1 {{aliases 'g', which no argument is from}}
logitile.kernel @a(%x: !logitile.view<?x4xf32> from @x) attributes {aliases = {g = @x}} {
}

// -----

// expected-error @+1 {{alias of 'x' is 3 : i64; it must be a buffer}}
logitile.kernel @a(%x: !logitile.view<?x4xf32> from @x) attributes {aliases = {x = 3 : i64}} {
}

// -----

// expected-error @+1 {{runs the code of @b, which is no kernel of this module}}
logitile.kernel @a(%x: !logitile.view<?x4xf32> from @x) attributes {code = @b} {
}

// -----

logitile.kernel @a(%x: !logitile.view<?x4xf32> from @x) {
}
logitile.kernel @b(%x: !logitile.view<?x4xf32> from @x) attributes {code = @a} {
}
// expected-error @+1 {{runs the code of @b, which runs that of @a; name that one}}
logitile.kernel @c(%x: !logitile.view<?x4xf32> from @x) attributes {code = @b} {
}

// -----

logitile.kernel @a(%x: !logitile.view<?x4xf32> from @x) {
}
// expected-error @+1 {{runs the code of @a, which has arguments of other types}}
logitile.kernel @b(%x: !logitile.view<?x4xbf16> from @x) attributes {code = @a} {
}

// -----

// expected-error @+1 {{'logitile.kernel' op argument 0 of type '!logitile.view<?xf32>' is from "x"; expected a buffer such as @tokens_map}}
logitile.kernel @a(%x: !logitile.view<?xf32> from "x") {
}

// -----

// expected-error @+1 {{'logitile.kernel' op argument 0 is from 'accumulate'; expected 'accumulate_tokens' or 'accumulate_vocab_splits'}}
logitile.kernel @a(%accumulate: i1 from accumulate) {
}

// -----

logitile.kernel @a(%hidden: !logitile.view<?x8xf32> from @h, %weight: !logitile.view<16x8xf32> from @w) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'logitile.project' op needs 'using' and an algorithm in a kernel}}
  %z = logitile.project %hidden, %weight at [%zero, %zero] by 8
      : !logitile.view<?x8xf32>, !logitile.view<16x8xf32> -> !logitile.tile<4x16xf32>
}
