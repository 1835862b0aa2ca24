// RUN: %roundtrip %s | logitile-opt | FileCheck %s
// RUN: %generic %s | logitile-opt | FileCheck %s

// Tiles and views with numbers, with symbols and with both; symbols need spaces around 'x', numbers
// do not.
// CHECK-LABEL: func.func private @tiles(
// CHECK-SAME: !logitile.tile<128x64xf32>, !logitile.tile<TM x TN x acc>, !logitile.tile<128 x TN x f32>, !logitile.tile<128 x 64 x acc>,
// CHECK-SAME: !logitile.tile<1x64xi32>, !logitile.tile<64x1xi1>, !logitile.tile<16x16xbf16>)
func.func private @tiles(!logitile.tile<128x64xf32>, !logitile.tile<TM x TN x acc>, !logitile.tile<128xTN x f32>, !logitile.tile<128x64 x acc>,
                         !logitile.tile<1 x 64 x i32>, !logitile.tile<64x1xi1>, !logitile.tile<16x16xbf16>)
// CHECK-LABEL: func.func private @views(
// CHECK-SAME: !logitile.view<?xf32>, !logitile.view<?x1024xf16>, !logitile.view<? x V x acc>, !logitile.view<2x?xf32>,
// CHECK-SAME: !logitile.view<?x8xf32>, !logitile.view<?x8xf32, column_major>, !logitile.view<?x8xf32, row_panels>,
// CHECK-SAME: !logitile.view<? x D x op, column_panels>)
func.func private @views(!logitile.view<?xf32>, !logitile.view<?x1024xf16>, !logitile.view<? x V x acc>, !logitile.view<2x?xf32>,
                         !logitile.view<?x8xf32, strided>, !logitile.view<?x8xf32, column_major>, !logitile.view<?x8xf32, row_panels>,
                         !logitile.view<? x D x op, column_panels>)
// Elements that are rounded when they are read. As parameters of templates, they are printed alone.
// CHECK-LABEL: func.func private @rounded(
// CHECK-SAME: !logitile.view<?x1024xf32 to bf16>, !logitile.view<V x D x f16 to bf16>, !logitile.view<8x8xf32 to f16, column_major>,
// CHECK-SAME: !logitile.rounded<f32 to bf16>)
func.func private @rounded(!logitile.view<?x1024xf32 to bf16>, !logitile.view<V x D x f16 to bf16>, !logitile.view<8x8xf32 to f16, column_major>,
                           !logitile.rounded<f32 to bf16>)
// CHECK-LABEL: func.func private @tile_bundles(
// CHECK-SAME: !logitile.logits<TM x TN x acc>, !logitile.grads<64x32xf32>, !logitile.vocab_grads<1 x TN x acc>,
// CHECK-SAME: !logitile.dense_grads<TM x TN x f32>, !logitile.row_state<TM>, !logitile.inputs<TM x 1>, !logitile.results<512>)
func.func private @tile_bundles(!logitile.logits<TM x TN x acc>, !logitile.grads<64x32xf32>, !logitile.vocab_grads<1 x TN x acc>,
                                !logitile.dense_grads<TM x TN x f32>, !logitile.row_state<TM>, !logitile.inputs<TM x 1>, !logitile.results<512>)
// CHECK-LABEL: func.func private @memory_bundles(
// CHECK-SAME: !logitile.hiddens, !logitile.weights, !logitile.logit_views, !logitile.grad_views, !logitile.vocab_grad_views,
// CHECK-SAME: !logitile.dense_grad_views, !logitile.input_views, !logitile.state_views, !logitile.result_views, !logitile.sparse_views,
// CHECK-SAME: !logitile.extracted_views)
func.func private @memory_bundles(!logitile.hiddens, !logitile.weights, !logitile.logit_views, !logitile.grad_views, !logitile.vocab_grad_views,
                                  !logitile.dense_grad_views, !logitile.input_views, !logitile.state_views, !logitile.result_views,
                                  !logitile.sparse_views, !logitile.extracted_views)
