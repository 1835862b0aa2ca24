// RUN: logitile-opt --cse %s | FileCheck %s

// Two loads around a store into the same memory are two values.
// CHECK-LABEL: func.func @store_between
func.func @store_between(%x: !logitile.view<?x8xf32>, %tile: !logitile.tile<4x8xf32>, %i: index) -> (!logitile.tile<4x8xf32>, !logitile.tile<4x8xf32>) {
  // CHECK: %[[BEFORE:.*]] = logitile.load
  %0 = logitile.load %x at [%i, %i] : !logitile.view<?x8xf32> -> !logitile.tile<4x8xf32>
  logitile.store %tile to %x at [%i, %i] : !logitile.tile<4x8xf32> to !logitile.view<?x8xf32>
  // CHECK: %[[AFTER:.*]] = logitile.load
  %1 = logitile.load %x at [%i, %i] : !logitile.view<?x8xf32> -> !logitile.tile<4x8xf32>
  // CHECK: return %[[BEFORE]], %[[AFTER]]
  return %0, %1 : !logitile.tile<4x8xf32>, !logitile.tile<4x8xf32>
}

// Two projections are two values as well: a gradient may overwrite the memory that they read.
// CHECK-LABEL: func.func @project_again
func.func @project_again(%hidden: !logitile.view<?x8xf32>, %weight: !logitile.view<300x8xf32>, %tile: !logitile.tile<4x4xf32>, %i: index)
    -> (!logitile.tile<4x4xf32>, !logitile.tile<4x4xf32>) {
  // CHECK: %[[BEFORE:.*]] = logitile.project
  %0 = logitile.project %hidden, %weight at [%i, %i] by 8 using dot_products : !logitile.view<?x8xf32>, !logitile.view<300x8xf32> -> !logitile.tile<4x4xf32>
  logitile.store %tile to %hidden at [%i, %i] : !logitile.tile<4x4xf32> to !logitile.view<?x8xf32>
  // CHECK: %[[AFTER:.*]] = logitile.project
  %1 = logitile.project %hidden, %weight at [%i, %i] by 8 using dot_products : !logitile.view<?x8xf32>, !logitile.view<300x8xf32> -> !logitile.tile<4x4xf32>
  // CHECK: return %[[BEFORE]], %[[AFTER]]
  return %0, %1 : !logitile.tile<4x4xf32>, !logitile.tile<4x4xf32>
}

// Two equal reads of an input are one value.
// CHECK-LABEL: logitile.loss @inputs
logitile.loss @inputs vocab 5 outputs ["l"] {
  // CHECK-NEXT: %[[T:.*]] = logitile.input token "t" : f32
  %0 = logitile.input token "t" : f32
  %1 = logitile.input token "t" : f32
  // CHECK-NEXT: arith.addf %[[T]], %[[T]] : f32
  %l = arith.addf %0, %1 : f32
  logitile.yield %l : f32
}
