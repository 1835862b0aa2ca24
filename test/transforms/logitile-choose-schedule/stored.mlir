// All logits stored, if they fit: three contractions, and the gradient is made in their place. The
// schedule serves every number of tokens whose buffers fit as well.
// contract: 5 stored format
// Vocabulary splits are whole tiles, as many as give each of four threads some.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 1000000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s
// CHECK: logitile.schedule tokens [25, {{7[0-9]+}}) vocab_split 1920 stored 30000 {
// CHECK-DAG: logitile.buffer @state_squares_sum chunk row_state of @squares[0] : !logitile.view<16x?xf32>
// CHECK-DAG: logitile.buffer @stored_z chunk stored of "z" : !logitile.view<?x30000xf32, column_major>
// CHECK-DAG: logitile.buffer @grad_z chunk logit_gradient of "z" alias @stored_z : !logitile.view<?x30000xf32, column_major>
// CHECK: logitile.run forward {
// CHECK-NEXT: logitile.launch "pack_z_rows" from @pack<D = 512, TM = 16, in = f32, op = f32> views {map = @map_z_hidden, packed = @packed_z_rows, source = @z_hidden}
// CHECK-NEXT: logitile.launch "squares" from @sweep<GROUP = 1, TK = 256, TM = 512, TN = 120, acc = f32> using panels sweep @squares store
// CHECK-NEXT: logitile.launch "loss" from @finish<TM = 512> sweep @squares finish @loss
// CHECK-NEXT: logitile.launch "pack_z_columns" from @pack
// CHECK-NEXT: logitile.launch "gradient" from @gradient<CENTRE = 120, TK = 256, TM = 512, TN = 120, acc = f32> vocab_splits [0, 16]
// CHECK-NEXT: logitile.launch "z_hidden" from @contract_hidden<{{.*}}> using panels input "z" views {grad = @grad_z, out = @gradient_z_hidden, weight = @z_weight}
// CHECK-NEXT: logitile.launch "z_weight" from @contract_weight<{{.*}}> using panels input "z" views {grad = @grad_z, hidden = @packed_z_columns, out = @gradient_z_weight, unscaled = @packed_z_columns}
// CHECK-NEXT: }
// CHECK-NEXT: }

// In a tenth of the budget the same for one chunk of tokens after the other; the weight gradients
// of later chunks are added. Tokens that would fit without chunks have another program, whichever
// was asked for first.
// RUN: sed 's/$ELEMENT/f32/; s/$GRADIENTS/<hidden of "z">, <weight of "z">/; s/$PLAN/mode = early, tokens = 4096, workspace = 100000000, chunks = 0, accumulate = false/' \
// RUN:     %S/Inputs/square.mlir | %schedule | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: logitile.schedule tokens [70{{[0-9]}}, {{[0-9]+}}) vocab_split 1920 stored 30000 {
// CHUNKS: logitile.run forward {
// CHUNKS-NEXT: logitile.loop tokens 688 {
// CHUNKS-NEXT: logitile.launch "pack_z_rows"
// CHUNKS: logitile.launch "z_hidden" from @contract_hidden<
// CHUNKS-NOT: accumulate
// CHUNKS-NEXT: logitile.launch "z_weight" from {{.*}} accumulate tokens
