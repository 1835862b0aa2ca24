// RUN: logitile-opt --logitile-form-sweeps %s | FileCheck %s
// Two sums of a gradient that are written differently come to the same entry: the fused sweep has
// it once.

// CHECK: logitile.sweep @fused fused state ["[[SUM:sum[0-9]+]].high" : f32, "[[SUM]].low" : f32] init
logitile.loss @f vocab 100 outputs ["loss"] gradient of ["loss"] wrt ["z", "r"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "r" : f32
  %cst = arith.constant 5.000000e-01 : f32
  %cst_0 = arith.constant 0xFF800000 : f32
  %c0_i32 = arith.constant 0 : i32
  %2 = math.absf %1 : f32
  %3 = arith.addf %2, %cst : f32
  %4 = arith.divf %0, %3 : f32
  %5 = arith.divf %4, %3 : f32
  %6 = logitile.reduce logsumexp %5 : f32 -> f32
  %7 = arith.subf %5, %6 : f32
  %8 = logitile.column : i32
  %9 = arith.cmpi ne, %8, %c0_i32 : i32
  %10 = arith.select %9, %7, %cst_0 : f32
  %11 = logitile.reduce logsumexp %10 : f32 -> f32
  %12 = arith.subf %10, %11 : f32
  %13 = math.exp %12 : f32
  %14 = logitile.multiply_no_nan %13, %13 : f32
  %15 = logitile.reduce sum %14 : f32 -> f32
  logitile.gradient {
    %cst_1 = arith.constant 1.000000e+00 : f32
    %16 = arith.divf %cst_1, %3 : f32
    %cst_2 = arith.constant 0.000000e+00 : f32
    %17 = logitile.input cotangent "loss" : f32
    %18 = logitile.multiply_no_nan %13, %17 : f32
    %cst_3 = arith.constant 2.000000e+00 : f32
    %19 = logitile.multiply_no_nan %13, %18 : f32
    %20 = arith.mulf %cst_3, %19 : f32
    %cst_4 = arith.constant -2.000000e+00 : f32
    %21 = arith.mulf %15, %17 : f32
    %22 = logitile.multiply_no_nan %13, %21 : f32
    %23 = arith.mulf %cst_4, %22 : f32
    %24 = arith.addf %20, %23 : f32
    %25 = arith.select %9, %24, %cst_2 : f32
    %26 = logitile.reduce sum %25 : f32 -> f32
    %27 = math.exp %7 : f32
    %28 = arith.mulf %16, %24 : f32
    %29 = arith.mulf %16, %26 : f32
    %30 = arith.mulf %16, %28 : f32
    %31 = arith.select %9, %30, %cst_2 : f32
    %32 = arith.mulf %16, %29 : f32
    %33 = logitile.multiply_no_nan %27, %32 : f32
    %34 = arith.subf %31, %33 : f32
    logitile.adjoint logits "z" dense %34
    %cst_5 = arith.constant -1.000000e+00 : f32
    %35 = arith.mulf %4, %24 : f32
    %36 = arith.select %9, %35, %cst_2 : f32
    %37 = arith.mulf %4, %26 : f32
    %38 = logitile.multiply_no_nan %27, %37 : f32
    %39 = arith.subf %36, %38 : f32
    %40 = logitile.reduce sum %39 : f32 -> f32
    %41 = arith.mulf %0, %28 : f32
    %42 = arith.select %9, %41, %cst_2 : f32
    %43 = arith.mulf %0, %29 : f32
    %44 = logitile.multiply_no_nan %27, %43 : f32
    %45 = arith.subf %42, %44 : f32
    %46 = logitile.reduce sum %45 : f32 -> f32
    %47 = arith.addf %40, %46 : f32
    %48 = arith.mulf %16, %47 : f32
    %49 = arith.divf %48, %3 : f32
    %50 = arith.cmpf ogt, %1, %cst_2 : f32
    %51 = arith.cmpf olt, %1, %cst_2 : f32
    %52 = arith.select %51, %cst_5, %cst_2 : f32
    %53 = arith.select %50, %cst_1, %52 : f32
    %54 = arith.mulf %49, %53 : f32
    %55 = arith.negf %54 : f32
    logitile.adjoint token "r" dense %55
  }
  logitile.yield %15 : f32
}
