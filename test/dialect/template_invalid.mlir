// RUN: %refused %s

// Parameters.

// expected-error @+1 {{parameter 'Tm' must be all capitals (a dimension) or all small letters (an element type)}}
logitile.template @a<Tm>(%count: index from tokens) {
}

// -----

// expected-error @+1 {{parameter 'x' must be all capitals (a dimension) or all small letters (an element type)}}
logitile.template @a<x>(%count: index from tokens) {
}

// -----

// expected-error @+1 {{'logitile.template' op declares parameter 'TM' twice}}
logitile.template @a<TM, acc, TM>(%count: index from tokens) {
}

// -----

// Roles of arguments.

// expected-error @+1 {{'logitile.template' op argument 1 of type '!logitile.view<?xf32>' needs a role after 'from'}}
logitile.template @a<>(%count: index from tokens, %x: !logitile.view<?xf32>) {
}

// -----

// expected-error @+1 {{'logitile.template' op argument 0 of type '!logitile.weights' is a bundle, which takes no role}}
logitile.template @a<>(%weights: !logitile.weights from "weights") {
}

// -----

// expected-error @+1 {{'logitile.template' op argument 0 is of type 'f32'; expected a view, index or i1}}
logitile.template @a<>(%x: f32 from "x") {
}

// -----

// expected-error @+1 {{'rows' is neither a scalar of a launch nor the role of a buffer}}
logitile.template @a<>(%count: index from rows) {
}

// -----

// expected-error @+1 {{'logitile.template' op argument 0 of type 'i1' is from 'tokens', which is an index}}
logitile.template @a<>(%accumulate: i1 from tokens) {
}

// -----

// expected-error @+1 {{'logitile.template' op argument 0 of type '!logitile.view<?xf32>' is from #logitile<scalar_role accumulate>; expected a name in quotes or the role of a buffer}}
logitile.template @a<>(%x: !logitile.view<?xf32> from accumulate) {
}

// -----

// expected-error @+1 {{'logitile.template' op has 1 arguments but 0 roles}}
"logitile.template"() <{sym_name = "a", params = [], roles = []}> ({
^bb0(%count: index):
}) : () -> ()

// -----

// Symbols that nobody declares: in an argument, a result, a block argument and an attribute.

// expected-error @+1 {{'logitile.template' op uses 'D', which template '@a' does not declare}}
logitile.template @a<TM, acc>(%x: !logitile.view<? x D x acc> from "x") {
}

// -----

// expected-note @+1 {{parameters are declared here}}
logitile.template @a<TM>(%rows: !logitile.state_views) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'logitile.load' op uses 'TN', which template '@a' does not declare}}
  %tile = logitile.load %rows at [%zero, %zero] : !logitile.state_views -> !logitile.row_state<TN>
}

// -----

// expected-note @+1 {{parameters are declared here}}
logitile.template @a<TM, D>(%x: !logitile.view<? x D x f32> from "x") {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'logitile.load' op uses 'acc', which template '@a' does not declare}}
  %tile = logitile.load %x at [%zero, %zero] : !logitile.view<? x D x f32> -> !logitile.tile<TM x D x acc>
}

// -----

// expected-note @+1 {{parameters are declared here}}
logitile.template @a<TM>(%count: index from tokens) {
  // expected-error @+1 {{'logitile.param' op uses 'TN', which template '@a' does not declare}}
  %tn = logitile.param TN
}

// -----

// expected-note @+1 {{parameters are declared here}}
logitile.template @a<TM, TN>(%hiddens: !logitile.hiddens, %weights: !logitile.weights) {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'logitile.project' op uses 'TK', which template '@a' does not declare}}
  %z = logitile.project %hiddens, %weights at [%zero, %zero] by TK : !logitile.hiddens, !logitile.weights -> !logitile.logits<TM x TN x f32>
}

// -----

// Ops that are allowed in kernels only.

logitile.template @a<TM>(%vocab: !logitile.view<300xf32> from "vocab", %columns: !logitile.view<?xi32> from "columns") {
  %zero = arith.constant 0 : index
  %index = logitile.load %columns at [%zero] : !logitile.view<?xi32> -> !logitile.tile<64x1xi32>
  // expected-error @+1 {{'logitile.load_gather' op stands in a template; only kernels have it, a template uses 'logitile.apply'}}
  %picked = logitile.load_gather %vocab[%index] : !logitile.view<300xf32>, !logitile.tile<64x1xi32> -> !logitile.tile<64x1xf32>
}

// -----

// expected-error @+1 {{'logitile.template' op argument 0 is from 'accumulate_vocab_splits'; expected 'accumulate': the launch decides when}}
logitile.template @a<>(%accumulate: i1 from accumulate_vocab_splits) {
}

// -----

// expected-error @+1 {{nothing is launched for 'walk'}}
logitile.template @a<> for walk(%weights: !logitile.weights) {
}

// -----

logitile.template @a<TM>(%hidden: !logitile.view<?x8xf32> from "h", %weight: !logitile.view<16x8xf32> from "w") {
  %zero = arith.constant 0 : index
  // expected-error @+1 {{'logitile.project' op has 'using' in a template; the launch chooses the algorithm}}
  %z = logitile.project %hidden, %weight at [%zero, %zero] by 8 using panels
      : !logitile.view<?x8xf32>, !logitile.view<16x8xf32> -> !logitile.tile<TM x 16 x f32>
}
