// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @unlikelihood vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "index"[0] : i32
  %2 = logitile.input token "index"[1] : i32
  %3 = logitile.input token "index"[2] : i32
  %4 = logitile.input token "index"[3] : i32
  %5 = logitile.reduce logsumexp %0 : f32 -> f32
  %6 = arith.subf %0, %5 : f32
  %7 = logitile.gather %6[%1] : f32
  %8 = arith.constant 0x7FC00000 : f32
  %9 = arith.constant -100 : i32
  %10 = arith.cmpi ne, %1, %9 : i32
  %11 = arith.select %10, %7, %8 : f32
  %12 = math.exp %11 : f32
  %13 = arith.constant 1.0 : f32
  %14 = arith.subf %13, %12 : f32
  %15 = arith.constant 9.536743e-07 : f32
  %16 = arith.addf %14, %15 : f32
  %17 = math.log %16 : f32
  %18 = arith.constant 0.0 : f32
  %19 = arith.addf %18, %17 : f32
  %20 = logitile.gather %6[%2] : f32
  %21 = arith.cmpi ne, %2, %9 : i32
  %22 = arith.select %21, %20, %8 : f32
  %23 = math.exp %22 : f32
  %24 = arith.subf %13, %23 : f32
  %25 = arith.addf %24, %15 : f32
  %26 = math.log %25 : f32
  %27 = arith.addf %19, %26 : f32
  %28 = logitile.gather %6[%3] : f32
  %29 = arith.cmpi ne, %3, %9 : i32
  %30 = arith.select %29, %28, %8 : f32
  %31 = math.exp %30 : f32
  %32 = arith.subf %13, %31 : f32
  %33 = arith.addf %32, %15 : f32
  %34 = math.log %33 : f32
  %35 = arith.addf %27, %34 : f32
  %36 = logitile.gather %6[%4] : f32
  %37 = arith.cmpi ne, %4, %9 : i32
  %38 = arith.select %37, %36, %8 : f32
  %39 = math.exp %38 : f32
  %40 = arith.subf %13, %39 : f32
  %41 = arith.addf %40, %15 : f32
  %42 = math.log %41 : f32
  %43 = arith.addf %35, %42 : f32
  %44 = arith.negf %43 : f32
  logitile.yield %44 : f32
}
