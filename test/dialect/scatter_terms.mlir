// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @in_a_template
func.func @in_a_template(%terms: !logitile.listed_views, %grads: !logitile.grad_views, %i: index) {
  // CHECK-NEXT: logitile.scatter_terms [%{{.*}}] to %{{.*}} at [%{{.*}}, %{{.*}}] tokens TM columns TN : [!logitile.listed_views] to !logitile.grad_views
  logitile.scatter_terms [%terms] to %grads at [%i, %i] tokens TM columns TN : [!logitile.listed_views] to !logitile.grad_views
  return
}

// CHECK-LABEL: func.func @in_a_kernel
func.func @in_a_kernel(%a: !logitile.view<?x8xi32>, %b: !logitile.view<?x8xf32>, %g: !logitile.view<?x100xbf16>, %i: index) {
  // CHECK-NEXT: logitile.scatter_terms [%{{.*}}, %{{.*}}] to %{{.*}} at [%{{.*}}, %{{.*}}] tokens 64 columns 32 : [!logitile.view<?x8xi32>, !logitile.view<?x8xf32>] to !logitile.view<?x100xbf16>
  logitile.scatter_terms [%a, %b] to %g at [%i, %i] tokens 64 columns 32
      : [!logitile.view<?x8xi32>, !logitile.view<?x8xf32>] to !logitile.view<?x100xbf16>
  return
}
