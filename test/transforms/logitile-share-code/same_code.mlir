// RUN: logitile-opt %s --logitile-share-code --split-input-file | FileCheck %s

// Kernels that differ in names alone are one.
// CHECK: logitile.kernel @student(
// CHECK-NOT: code
// CHECK: logitile.kernel @teacher({{.*}}) attributes {code = @student} {
// CHECK: logitile.kernel @other_teacher({{.*}}) attributes {code = @student} {
logitile.kernel @student(%count: index from "tokens", %x: !logitile.view<?xf32> from "x") {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @teacher(%many: index from "tokens", %y: !logitile.view<?xf32> from "y") {
  scf.forall (%first) = (0) to (%many) step (64) {
    %part = logitile.load %y at [%first] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %part to %y at [%first] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @other_teacher(%many: index from "tokens", %y: !logitile.view<?xf32> from "z") {
  scf.forall (%first) = (0) to (%many) step (64) {
    %part = logitile.load %y at [%first] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %part to %y at [%first] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

// -----

// Sizes of tiles, what code does, and what a scalar stands for are differences.
// CHECK-NOT: code =
logitile.kernel @a(%first: index from "slab_first", %behind: index from "slab_behind", %x: !logitile.view<?xf32> from "x") {
  scf.forall (%row) = (%first) to (%behind) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @b(%first: index from "slab_first", %behind: index from "slab_behind", %x: !logitile.view<?xf32> from "x") {
  scf.forall (%row) = (%first) to (%behind) step (32) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<32x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<32x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @c(%first: index from "slab_first", %behind: index from "slab_behind", %x: !logitile.view<?xf32> from "x") {
  scf.forall (%row) = (%behind) to (%first) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @d(%first: index from "slab_behind", %behind: index from "slab_first", %x: !logitile.view<?xf32> from "x") {
  scf.forall (%row) = (%first) to (%behind) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %x at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}

// -----

// Code for buffers that lie apart is not for such that share memory; what both are an alias of has no say.
// CHECK-LABEL: logitile.kernel @apart(
// CHECK-LABEL: logitile.kernel @in_place(
// CHECK-SAME: attributes {aliases = {y = "x"}} {
// CHECK-LABEL: logitile.kernel @in_another_place(
// CHECK-SAME: attributes {aliases = {a = "c", b = "c"}, code = @in_place} {
logitile.kernel @apart(%count: index from "tokens", %x: !logitile.view<?xf32> from "x", %y: !logitile.view<?xf32> from "y") {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %y at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @in_place(%count: index from "tokens", %x: !logitile.view<?xf32> from "x", %y: !logitile.view<?xf32> from "y")
    attributes {aliases = {y = "x"}} {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %y at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
logitile.kernel @in_another_place(%count: index from "tokens", %x: !logitile.view<?xf32> from "a", %y: !logitile.view<?xf32> from "b")
    attributes {aliases = {a = "c", b = "c"}} {
  scf.forall (%row) = (0) to (%count) step (64) {
    %tile = logitile.load %x at [%row] : !logitile.view<?xf32> -> !logitile.tile<64x1xf32>
    logitile.store %tile to %y at [%row] : !logitile.tile<64x1xf32> to !logitile.view<?xf32>
  }
}
