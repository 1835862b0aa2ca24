// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// CHECK: logitile.any_token %{{.*}} at %{{.*}} tokens 64 below %{{.*}} : !logitile.view<?xi32>
logitile.kernel @flags(%count: index from tokens, %flags: !logitile.view<?xi32> from @raised) {
  scf.forall (%row) = (0) to (%count) step (64) {
    %any = logitile.any_token %flags at %row tokens 64 below %count : !logitile.view<?xi32>
  }
}
