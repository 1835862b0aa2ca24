// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: logitile.template @a<TM, TILE_2>
logitile.template @a<TM, TILE_2>(%count: index from tokens) {
  // CHECK-NEXT: %{{.*}} = logitile.param TM
  %0 = logitile.param TM
  // CHECK-NEXT: %{{.*}} = logitile.param TILE_2 {note}
  %1 = logitile.param TILE_2 {note}
}
