// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @mtp vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "decay"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "index"[0] : i32
  %2 = logitile.input token "index"[1] : i32
  %3 = logitile.input token "index"[2] : i32
  %4 = logitile.input token "index"[3] : i32
  %5 = logitile.input scalar "decay" : f32
  %6 = logitile.reduce logsumexp %0 : f32 -> f32
  %7 = arith.constant 0.0 : f32
  %8 = math.powf %5, %7 : f32
  %9 = logitile.gather %0[%1] : f32
  %10 = arith.constant 0x7FC00000 : f32
  %11 = arith.constant -100 : i32
  %12 = arith.cmpi ne, %1, %11 : i32
  %13 = arith.select %12, %9, %10 : f32
  %14 = arith.subf %6, %13 : f32
  %15 = arith.mulf %8, %14 : f32
  %16 = arith.addf %7, %15 : f32
  %17 = arith.constant 1.0 : f32
  %18 = math.powf %5, %17 : f32
  %19 = logitile.gather %0[%2] : f32
  %20 = arith.cmpi ne, %2, %11 : i32
  %21 = arith.select %20, %19, %10 : f32
  %22 = arith.subf %6, %21 : f32
  %23 = arith.mulf %18, %22 : f32
  %24 = arith.addf %16, %23 : f32
  %25 = arith.constant 2.0 : f32
  %26 = math.powf %5, %25 : f32
  %27 = logitile.gather %0[%3] : f32
  %28 = arith.cmpi ne, %3, %11 : i32
  %29 = arith.select %28, %27, %10 : f32
  %30 = arith.subf %6, %29 : f32
  %31 = arith.mulf %26, %30 : f32
  %32 = arith.addf %24, %31 : f32
  %33 = arith.constant 3.0 : f32
  %34 = math.powf %5, %33 : f32
  %35 = logitile.gather %0[%4] : f32
  %36 = arith.cmpi ne, %4, %11 : i32
  %37 = arith.select %36, %35, %10 : f32
  %38 = arith.subf %6, %37 : f32
  %39 = arith.mulf %34, %38 : f32
  %40 = arith.addf %32, %39 : f32
  logitile.yield %40 : f32
}
