// RUN: logitile-opt %s '--pass-pipeline=builtin.module(logitile.program(logitile-factor-gradient))' | FileCheck %s --implicit-check-not=times --implicit-check-not=first_columns

// Programs that stay as they are.
// CHECK-LABEL: logitile.program @sum_of_two
// CHECK: logitile.adjoint logits "z" dense
logitile.program @sum_of_two vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["max" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    logitile.yield %lowest : f32
  } candidate {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  } update {
  ^bb0(%max: f32):
    logitile.yield %max : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %max = arith.maxnumf %a, %b : f32
    logitile.yield %max : f32
  }
  logitile.finish @f forward of @s results ["max" : f32] {
  ^bb0(%max: f32):
    logitile.yield %max : f32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %max = logitile.known <@f[0]> : f32
    %x = arith.subf %z, %max : f32
    %e = math.exp %x : f32
    %g = arith.addf %e, %max : f32
    logitile.adjoint logits "z" dense %g
  }
}

// The column of the term is known after the sweep only: it could not be cleared.
// CHECK-LABEL: logitile.program @late_column
// CHECK: logitile.adjoint logits "z" dense
logitile.program @late_column vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["max" : f32] init {
    %lowest = arith.constant 0xFF7FFFFF : f32
    logitile.yield %lowest : f32
  } candidate {
    %z = logitile.input logits "z" : f32
    logitile.yield %z : f32
  } update {
  ^bb0(%max: f32):
    logitile.yield %max : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %max = arith.maxnumf %a, %b : f32
    logitile.yield %max : f32
  }
  logitile.finish @f forward of @s results ["max" : f32, "index" : i32] {
  ^bb0(%max: f32):
    %i = arith.constant 7 : i32
    logitile.yield %max, %i : f32, i32
  }
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    %max = logitile.known <@f[0]> : f32
    %index = logitile.known <@f[1]> : i32
    %x = arith.subf %z, %max : f32
    %e = math.exp %x : f32
    logitile.adjoint logits "z" dense %e sparse [%index -> %max]
  }
}
