// sum z^2 - a, with the gradient 2 z up: one sweep, one finish, and a gradient that reads the
// logits again. Tests put in $ELEMENT of hidden and weight, $GRADIENTS that are wanted, and $PLAN,
// the rest of the request.
module attributes {logitile.request = #logitile.request<projections = [#logitile.projection<"z", hidden = 512, element = $ELEMENT>], dense = {},
    gradients = [$GRADIENTS], $PLAN, target = "cpu:avx2", threads = 4>} {
  logitile.program @square vocab 30000 outputs [#logitile.output<"loss" : f32 is <@loss[0]>>] indices [] checked [] {
    logitile.sweep @squares forward state ["sum" : f32] init {
      %zero = arith.constant 0.0 : f32
      logitile.yield %zero : f32
    } candidate {
      logitile.yield
    } update {
    ^bb0(%sum: f32):
      %z = logitile.input logits "z" : f32
      %zz = arith.mulf %z, %z : f32
      %next = arith.addf %sum, %zz : f32
      logitile.yield %next : f32
    } merge {
    ^bb0(%a: f32, %b: f32):
      %both = arith.addf %a, %b : f32
      logitile.yield %both : f32
    }
    logitile.finish @loss forward of @squares results ["loss" : f32, "twice" : f32] {
    ^bb0(%sum: f32):
      %a = logitile.input token "a" : f32
      %loss = arith.subf %sum, %a : f32
      %twice = arith.addf %sum, %sum : f32
      logitile.yield %loss, %twice : f32, f32
    }
    logitile.gradient {
      %z = logitile.input logits "z" : f32
      %up = logitile.input cotangent "loss" : f32
      %twice = logitile.known <@loss[1]> : f32
      %zz = arith.mulf %z, %twice : f32
      %d = arith.mulf %zz, %up : f32
      logitile.adjoint logits "z" dense %d
    }
  }
}
