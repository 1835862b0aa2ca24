// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @column
func.func @column() {
  // CHECK-NEXT: %{{.*}} = logitile.column : i32
  %0 = logitile.column : i32
  return
}
