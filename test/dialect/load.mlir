// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK-LABEL: func.func @views
func.func @views(%vector: !logitile.view<?xf32>, %matrix: !logitile.view<?x64xbf16>, %map: !logitile.view<?xi32>, %i: index) {
  // One value per token, one per vocabulary entry, and both.
  // CHECK-NEXT: %{{.*}} = logitile.load %{{.*}} at [%{{.*}}] : !logitile.view<?xf32> -> !logitile.tile<32x1xf32>
  %0 = logitile.load %vector at [%i] : !logitile.view<?xf32> -> !logitile.tile<32x1xf32>
  // CHECK-NEXT: %{{.*}} = logitile.load %{{.*}} at [%{{.*}}] : !logitile.view<?xf32> -> !logitile.tile<1x32xf32>
  %1 = logitile.load %vector at [%i] : !logitile.view<?xf32> -> !logitile.tile<1x32xf32>
  // CHECK-NEXT: %{{.*}} = logitile.load %{{.*}} at [%{{.*}}, %{{.*}}] : !logitile.view<?x64xbf16> -> !logitile.tile<32x64xf32>
  %2 = logitile.load %matrix at [%i, %i] : !logitile.view<?x64xbf16> -> !logitile.tile<32x64xf32>
  // CHECK-NEXT: %{{.*}} = logitile.load %{{.*}} at [%{{.*}}, %{{.*}}] through %{{.*}} : !logitile.view<?x64xbf16>, !logitile.view<?xi32> -> !logitile.tile<32x64xf32>
  %3 = logitile.load %matrix at [%i, %i] through %map : !logitile.view<?x64xbf16>, !logitile.view<?xi32> -> !logitile.tile<32x64xf32>
  return
}

// CHECK-LABEL: func.func @bundles
func.func @bundles(%inputs: !logitile.input_views, %rows: !logitile.state_views, %stored: !logitile.logit_views, %map: !logitile.view<?xi32>, %i: index) {
  // CHECK-NEXT: %{{.*}} = logitile.load %{{.*}} at [%{{.*}}, %{{.*}}] through %{{.*}} : !logitile.input_views, !logitile.view<?xi32> -> !logitile.inputs<TM x 1>
  %0 = logitile.load %inputs at [%i, %i] through %map : !logitile.input_views, !logitile.view<?xi32> -> !logitile.inputs<TM x 1>
  // CHECK-NEXT: %{{.*}} = logitile.load %{{.*}} at [%{{.*}}, %{{.*}}] : !logitile.state_views -> !logitile.row_state<TM>
  %1 = logitile.load %rows at [%i, %i] : !logitile.state_views -> !logitile.row_state<TM>
  // CHECK-NEXT: %{{.*}} = logitile.load %{{.*}} at [%{{.*}}, %{{.*}}] : !logitile.logit_views -> !logitile.logits<TM x TN x acc>
  %2 = logitile.load %stored at [%i, %i] : !logitile.logit_views -> !logitile.logits<TM x TN x acc>
  return
}
