// RUN: logitile-opt %s --convert-tiles-to-cpu=target=cpu:avx512 | FileCheck %s
// A vector of entries costs one comparison with the smallest words of their lists; only lanes that
// hold a larger entry are visited.

// CHECK-LABEL: func.func @sweep(
// CHECK: scf.if
// CHECK: llvm.store %{{.*}}, %{{.*}} {{.*}} : i64, !llvm.ptr
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[ORDER:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xi32>
// CHECK: %[[LEAST:.*]] = llvm.load %{{.*}} : !llvm.ptr -> vector<16xi32>
// CHECK: %[[ENTERS:.*]] = arith.cmpi sgt, %[[ORDER]], %[[LEAST]] : vector<16xi32>
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[ENTERS]] : vector<16xi1> into i1
// CHECK: scf.if %[[ANY]] {
// CHECK:   vector.bitcast %[[ENTERS]] : vector<16xi1> to vector<1xi16>
// CHECK:   scf.while
// CHECK:     call @replace_least

// The smallest word gives way: one loop down the heap, for lists of every length.
// CHECK-LABEL: func.func private @replace_least(
// CHECK: scf.while

// A list that an earlier finish has put in order stays as it is.
// CHECK-LABEL: func.func @finish(
// CHECK: %[[IS_HEAP:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : i64
// CHECK: scf.if %[[IS_HEAP]] {
// CHECK: call @replace_least
// CHECK: call @sort_heap

// CHECK-LABEL: func.func private @sort_heap(
// CHECK: scf.for
// CHECK: call @replace_least

// The lists of two slices are in order: each place takes the larger of what comes next in them.
// CHECK-LABEL: func.func @merge(
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i64)
// CHECK: %[[A:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
// CHECK: %[[B:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i64
// CHECK-NEXT: %[[IS_FIRST:.*]] = arith.cmpi sge, %[[A]], %[[B]] : i64
// CHECK-NEXT: arith.select %[[IS_FIRST]], %{{.*}}, %{{.*}} : f32
logitile.kernel @sweep(%n: index from tokens, %z: !logitile.view<?x8xf32, column_major> from @z, %list: !logitile.view<?x100xi64> from @list) {
  %zero = arith.constant 0 : index
  scf.forall (%row) = (0) to (%n) step (64) {
    %tile = logitile.load %z at [%row, %zero] : !logitile.view<?x8xf32, column_major> -> !logitile.tile<64x8xf32>
    logitile.update_lists %list with (%tile : !logitile.tile<64x8xf32>) at [%zero, %row, %zero] from %zero tokens 64 places [50]
        : !logitile.view<?x100xi64> {
    ^bb0(%x: f32):
      logitile.yield %x : f32
    }
  }
}
logitile.kernel @finish(%n: index from tokens, %list: !logitile.view<?x100xi64> from @list, %values: !logitile.view<?x50xf32> from @values,
                        %indices: !logitile.view<?x50xi32> from @indices) {
  scf.forall (%row) = (0) to (%n) step (64) {
    logitile.finish_list %list at %row tokens 64 splits 2 places 50 to %values, %indices
        : !logitile.view<?x100xi64> to !logitile.view<?x50xf32>, !logitile.view<?x50xi32> {
    ^bb0(%value: f32, %index: i32):
      logitile.yield %value, %index : f32, i32
    }
  }
}
logitile.kernel @merge(%n: index from tokens, %a: !logitile.view<?x50xf32, column_major> from @a, %b: !logitile.view<?x50xi32, column_major> from @b,
                       %c: !logitile.view<?x50xf32, column_major> from @c, %d: !logitile.view<?x50xi32, column_major> from @d,
                       %values: !logitile.view<?x50xf32> from @values) {
  scf.forall (%row) = (0) to (%n) step (64) {
    logitile.finish_list %a, %b, %c, %d at %row tokens 64 splits 2 places 50 to %values
        : !logitile.view<?x50xf32, column_major>, !logitile.view<?x50xi32, column_major>, !logitile.view<?x50xf32, column_major>,
          !logitile.view<?x50xi32, column_major> to !logitile.view<?x50xf32> {
    ^bb0(%value: f32, %index: i32):
      logitile.yield %value : f32
    }
  }
}
