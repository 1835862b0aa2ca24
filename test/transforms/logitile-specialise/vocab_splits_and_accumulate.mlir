// RUN: %specialise %s | FileCheck %s

// Vocabulary splits that a launch names are constants, as are those of a launch outside of loops
// over vocabulary splits; V clips the last one.
// CHECK-LABEL: logitile.kernel @some(%tokens: index from tokens,
// CHECK-NOT: vocab_split_first
// CHECK: %vocabSplitFirst = arith.constant 1 : index
// CHECK-NEXT: %vocabSplitEnd = arith.constant 3 : index
// CHECK-NEXT: %accumulate = arith.constant true
// CHECK-LABEL: logitile.kernel @all(
// CHECK: %vocabSplitFirst = arith.constant 0 : index
// CHECK-NEXT: %vocabSplitEnd = arith.constant 4 : index
// CHECK-NEXT: %accumulate = arith.constant false

// In a loop over vocabulary splits they are arguments, also under a loop over tokens, unless the
// launch names its own.
// CHECK-LABEL: logitile.kernel @loop(%tokens: index from tokens, %vocab_split_first: index from vocab_split_first, %vocab_split_end: index from vocab_split_end,
// CHECK-SAME: %accumulate_tokens: i1 from accumulate_tokens,
// CHECK-LABEL: logitile.kernel @own(%tokens: index from tokens, %accumulate_vocab_splits: i1 from accumulate_vocab_splits,
// CHECK: %vocabSplitFirst = arith.constant 0 : index
// CHECK-NEXT: %vocabSplitEnd = arith.constant 2 : index
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 301 outputs [] indices [] checked [] {
  logitile.gradient {
    %z = logitile.input logits "z" : f32
    logitile.adjoint logits "z" dense %z
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 0 {
    logitile.buffer @grad_z chunk logit_gradient of "z" : !logitile.view<?x301xf32>
    logitile.buffer @packed_z_columns chunk packed_columns of "z" : !logitile.view<?x24xf32, column_panels>
    logitile.buffer @gradient_z_weight output weight_gradient of "z" : !logitile.view<301x24xf32>
    logitile.run backward {
      logitile.launch "some" from @contract_weight<TN = 32, TD = 8, TK = 16, D = 24, op = f32, g = f32, out = f32, acc = f32> using panels
          input "z" views {grad = @grad_z, hidden = @packed_z_columns, out = @gradient_z_weight, unscaled = @packed_z_columns} vocab_splits [1, 3] accumulate always
      logitile.loop tokens 512 {
        logitile.launch "all" from @contract_weight<TN = 32, TD = 8, TK = 16, D = 24, op = f32, g = f32, out = f32, acc = f32> using panels
            input "z" views {grad = @grad_z, hidden = @packed_z_columns, out = @gradient_z_weight, unscaled = @packed_z_columns}
        logitile.loop vocab_splits 1 from 0 to 4 {
          logitile.launch "loop" from @contract_weight<TN = 32, TD = 8, TK = 16, D = 24, op = f32, g = f32, out = f32, acc = f32> using panels
              input "z" views {grad = @grad_z, hidden = @packed_z_columns, out = @gradient_z_weight, unscaled = @packed_z_columns} accumulate tokens
          logitile.launch "own" from @contract_weight<TN = 32, TD = 8, TK = 16, D = 24, op = f32, g = f32, out = f32, acc = f32> using panels
              input "z" views {grad = @grad_z, hidden = @packed_z_columns, out = @gradient_z_weight, unscaled = @packed_z_columns} vocab_splits [0, 2] accumulate vocab_splits
        }
      }
    }
  }
}
