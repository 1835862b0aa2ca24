// RUN: %specialise %s | FileCheck %s

// Only a projection that is read again has a buffer: the other one's logits are stored nowhere.
// CHECK-LABEL: logitile.kernel @sweep(
// CHECK: %[[STUDENT:.*]] = logitile.project %student_hidden
// CHECK-NEXT: %[[TEACHER:.*]] = logitile.project %packed_teacher_rows
// CHECK-NEXT: logitile.store %[[TEACHER]] to %stored_teacher at [%row, %column]
// CHECK-NEXT: logitile.update_state(%running) with(%[[STUDENT]], %[[TEACHER]])

// A launch that keeps makes the logits of every projection that is kept, also of one that its sweep
// does not read.
// CHECK-LABEL: logitile.kernel @one(
// CHECK: %[[STUDENT:.*]] = logitile.project %student_hidden
// CHECK-NEXT: %[[TEACHER:.*]] = logitile.project %packed_teacher_rows
// CHECK-NEXT: logitile.store %[[TEACHER]] to %stored_teacher at [%row, %column]
// CHECK-NEXT: logitile.update_state(%running) with(%[[STUDENT]], %[[TEACHER]])
// CHECK-LABEL: logitile.program @p
logitile.program @p vocab 300 outputs [] indices [] checked [] {
  logitile.sweep @s forward state ["sum" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%sum: f32):
    %teacher = logitile.input logits "teacher" : f32
    %student = logitile.input logits "student" : f32
    %difference = arith.subf %teacher, %student : f32
    %next = arith.addf %sum, %difference : f32
    logitile.yield %next : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %both = arith.addf %a, %b : f32
    logitile.yield %both : f32
  }
  logitile.sweep @students forward state ["last" : f32] init {
    %zero = arith.constant 0.0 : f32
    logitile.yield %zero : f32
  } candidate {
    logitile.yield
  } update {
  ^bb0(%last: f32):
    %student = logitile.input logits "student" : f32
    logitile.yield %student : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    logitile.yield %b : f32
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @student_hidden input hidden of "student" : !logitile.view<?x24xf32>
    logitile.buffer @student_weight input weight of "student" : !logitile.view<300x24xf32>
    logitile.buffer @teacher_hidden input hidden of "teacher" : !logitile.view<?x40xf32>
    logitile.buffer @teacher_weight input weight of "teacher" : !logitile.view<300x40xf32>
    logitile.buffer @packed_teacher_rows chunk packed_rows of "teacher" : !logitile.view<?x40xf32, row_panels>
    logitile.buffer @stored_teacher chunk stored of "teacher" : !logitile.view<?x300xf32>
    logitile.buffer @state_students_last chunk row_state of @students[0] : !logitile.view<3x?xf32>
    logitile.buffer @state_s_sum chunk row_state of @s[0] : !logitile.view<3x?xf32>
    logitile.run forward {
      logitile.launch "sweep" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> using panels sweep @s store
      logitile.launch "one" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> using panels sweep @students store
    }
  }
}
