// RUN: logitile-opt %s --logitile-share-code --split-input-file | FileCheck %s

// Kernels that differ in names alone are one.
// CHECK: logitile.kernel @student(
// CHECK-NOT: code
// CHECK: logitile.kernel @teacher({{.*}}) attributes {code = @student} {
// CHECK: logitile.kernel @other_teacher({{.*}}) attributes {code = @student} {
logitile.kernel @student(%count: index from tokens, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @teacher(%many: index from tokens, %y: !logitile.view<?xf32> from @y) {
  scf.forall (%first) = (0) to (%many) step (64) {
    %part = logitile.load %y at [%first] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %part to %y at [%first] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @other_teacher(%many: index from tokens, %y: !logitile.view<?xf32> from @z) {
  scf.forall (%first) = (0) to (%many) step (64) {
    %part = logitile.load %y at [%first] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %part to %y at [%first] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

// -----

// Sizes of tiles, what code does, and what a scalar stands for are differences.
// CHECK-NOT: code =
logitile.kernel @a(%first: index from vocab_split_first, %end: index from vocab_split_end, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (%first) to (%end) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @b(%first: index from vocab_split_first, %end: index from vocab_split_end, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (%first) to (%end) step (32) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<32x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<32x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @c(%first: index from vocab_split_first, %end: index from vocab_split_end, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (%end) to (%first) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @d(%first: index from vocab_split_end, %end: index from vocab_split_first, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (%first) to (%end) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @e(%first: index from vocab_split_first, %end: index from vocab_split_end, %x: !logitile.view<?xbf16> from @x) {
  scf.forall (%row) = (%first) to (%end) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xbf16> -> !logitile.tile<64x1xbf16>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xbf16> to !logitile.view<?xbf16>
  }
}
logitile.kernel @f(%first: index from vocab_split_first, %end: index from vocab_split_end, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (%first) to (%end) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    %next = logitile.map(%tile) : (!logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
    ^bb0(%value: f32):
      %one = arith.constant 1.0 : f32
      %sum = arith.addf %value, %one : f32
      logitile.yield %sum : f32
    }
    logitile.store %next to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @g(%first: index from vocab_split_first, %end: index from vocab_split_end, %x: !logitile.view<?xf32> from @x) {
  scf.forall (%row) = (%first) to (%end) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    %next = logitile.map(%tile) : (!logitile.tile<64x1xf32>) -> !logitile.tile<64x1xf32> {
    ^bb0(%value: f32):
      %two = arith.constant 2.0 : f32
      %sum = arith.addf %value, %two : f32
      logitile.yield %sum : f32
    }
    logitile.store %next to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

// -----

// Code for buffers that lie apart is not for such that share memory; what both are an alias of has
// no say.
// CHECK-LABEL: logitile.kernel @apart(
// CHECK-LABEL: logitile.kernel @in_place(
// CHECK-SAME: attributes {aliases = {y = @x}} {
// CHECK-LABEL: logitile.kernel @in_another_place(
// CHECK-SAME: attributes {aliases = {a = @c, b = @c}, code = @in_place} {
logitile.kernel @apart(%count: index from tokens, %x: !logitile.view<?xf32> from @x, %y: !logitile.view<?xf32> from @y) {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %y at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @in_place(%count: index from tokens, %x: !logitile.view<?xf32> from @x, %y: !logitile.view<?xf32> from @y)
    attributes {aliases = {y = @x}} {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %y at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @in_another_place(%count: index from tokens, %x: !logitile.view<?xf32> from @a, %y: !logitile.view<?xf32> from @b)
    attributes {aliases = {a = @c, b = @c}} {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %y at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
