// RUN: logitile-opt %s --pass-pipeline='builtin.module(logitile.program(logitile-join-finishes))' | FileCheck %s

// An index is read from memory: the kernel that gathers there runs after the one that computes it.
// CHECK-LABEL: logitile.program @at_computed_index
// CHECK: logitile.finish @f forward results ["index" : i32]
// CHECK: logitile.finish @b backward results ["entry" : f32]
logitile.program @at_computed_index vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["index" : i32] {
    %target = logitile.input token "target" : i32
    logitile.yield %target : i32
  }
  logitile.finish @b backward results ["entry" : f32] {
    %index = logitile.known <@f[0]> : i32
    %q = logitile.input vocab "q" : f32
    %entry = logitile.gather %q[%index] : f32
    logitile.yield %entry : f32
  }
  logitile.gradient {
    %entry = logitile.known <@b[0]> : f32
    logitile.adjoint logits "z" dense %entry
  }
}

// Between the two is a sweep, which reads the first one.
// CHECK-LABEL: logitile.program @around_a_sweep
// CHECK: logitile.finish @f forward results ["x" : f32]
// CHECK: logitile.sweep @s backward
// CHECK: logitile.finish @b backward of @s results ["y" : f32]
logitile.program @around_a_sweep vocab 300 outputs [] indices [] checked [] {
  logitile.finish @f forward results ["x" : f32] {
    %t = logitile.input token "t" : f32
    logitile.yield %t : f32
  }
  logitile.sweep @s backward state ["sum" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    %z = logitile.input logits "z" : f32
    %x = logitile.known <@f[0]> : f32
    %term = arith.mulf %x, %z : f32
    %next = arith.addf %sum, %term : f32
    logitile.yield %next : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  logitile.finish @b backward of @s results ["y" : f32] {
  ^bb0(%sum: f32):
    logitile.yield %sum : f32
  }
  logitile.gradient {
    %y = logitile.known <@b[0]> : f32
    logitile.adjoint logits "z" dense %y
  }
}
