// RUN: logitile-opt --logitile-differentiate --logitile-form-sweeps %s | FileCheck %s

// CHECK-COUNT-1: logitile.sweep @forward
// CHECK-NOT: logitile.sweep
logitile.loss @topk_kl vocab 1000 outputs ["loss"] gradient of ["loss"] wrt ["z", "logits"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "index"[0] : i32
  %2 = logitile.input token "index"[1] : i32
  %3 = logitile.input token "index"[2] : i32
  %4 = logitile.input token "index"[3] : i32
  %5 = logitile.input token "logits"[0] : f32
  %6 = logitile.input token "logits"[1] : f32
  %7 = logitile.input token "logits"[2] : f32
  %8 = logitile.input token "logits"[3] : f32
  %9 = arith.maximumf %5, %6 : f32
  %10 = arith.maximumf %9, %7 : f32
  %11 = arith.maximumf %10, %8 : f32
  %12 = arith.subf %5, %11 : f32
  %13 = math.exp %12 : f32
  %14 = arith.constant 0.0 : f32
  %15 = arith.addf %14, %13 : f32
  %16 = arith.subf %6, %11 : f32
  %17 = math.exp %16 : f32
  %18 = arith.addf %15, %17 : f32
  %19 = arith.subf %7, %11 : f32
  %20 = math.exp %19 : f32
  %21 = arith.addf %18, %20 : f32
  %22 = arith.subf %8, %11 : f32
  %23 = math.exp %22 : f32
  %24 = arith.addf %21, %23 : f32
  %25 = math.log %24 : f32
  %26 = arith.addf %11, %25 : f32
  %27 = logitile.reduce logsumexp %0 : f32 -> f32
  %28 = arith.subf %0, %27 : f32
  %29 = arith.subf %5, %26 : f32
  %30 = math.exp %29 : f32
  %31 = logitile.gather %28[%1] : f32
  %32 = arith.constant 0x7FC00000 : f32
  %33 = arith.constant -100 : i32
  %34 = arith.cmpi ne, %1, %33 : i32
  %35 = arith.select %34, %31, %32 : f32
  %36 = arith.subf %29, %35 : f32
  %37 = logitile.multiply_no_nan %30, %36 : f32
  %38 = arith.addf %14, %37 : f32
  %39 = arith.subf %6, %26 : f32
  %40 = math.exp %39 : f32
  %41 = logitile.gather %28[%2] : f32
  %42 = arith.cmpi ne, %2, %33 : i32
  %43 = arith.select %42, %41, %32 : f32
  %44 = arith.subf %39, %43 : f32
  %45 = logitile.multiply_no_nan %40, %44 : f32
  %46 = arith.addf %38, %45 : f32
  %47 = arith.subf %7, %26 : f32
  %48 = math.exp %47 : f32
  %49 = logitile.gather %28[%3] : f32
  %50 = arith.cmpi ne, %3, %33 : i32
  %51 = arith.select %50, %49, %32 : f32
  %52 = arith.subf %47, %51 : f32
  %53 = logitile.multiply_no_nan %48, %52 : f32
  %54 = arith.addf %46, %53 : f32
  %55 = arith.subf %8, %26 : f32
  %56 = math.exp %55 : f32
  %57 = logitile.gather %28[%4] : f32
  %58 = arith.cmpi ne, %4, %33 : i32
  %59 = arith.select %58, %57, %32 : f32
  %60 = arith.subf %55, %59 : f32
  %61 = logitile.multiply_no_nan %56, %60 : f32
  %62 = arith.addf %54, %61 : f32
  logitile.yield %62 : f32
}
