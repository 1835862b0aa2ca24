// RUN: %specialise %s | FileCheck %s

// Every projection has its tile, in the order of the schedule's buffers, whatever order the regions
// read them in.
// CHECK-LABEL: logitile.kernel @sweep(%tokens: index from tokens,
// CHECK-SAME: %student_hidden: !logitile.view<?x24xf32> from @student_hidden, %packed_teacher_rows: !logitile.view<?x40xf32, row_panels> from @packed_teacher_rows,
// CHECK-SAME: %student_weight: !logitile.view<300x24xf32> from @student_weight, %teacher_weight: !logitile.view<300x40xf32> from @teacher_weight,
// CHECK-SAME: %stored_student: !logitile.view<?x300xf32> from @stored_student, %stored_teacher: !logitile.view<?x300xf32> from @stored_teacher, %state_s_sum: !logitile.view<3x?xf32> from @state_s_sum) {
// CHECK: %[[STUDENT:.*]] = logitile.project %student_hidden, %student_weight at [%row, %column] by 16 using panels : !logitile.view<?x24xf32>, !logitile.view<300x24xf32> -> !logitile.tile<64x32xf32>
// CHECK-NEXT: %[[TEACHER:.*]] = logitile.project %packed_teacher_rows, %teacher_weight at [%row, %column] by 16 using panels : !logitile.view<?x40xf32, row_panels>, !logitile.view<300x40xf32> -> !logitile.tile<64x32xf32>
// CHECK-NEXT: logitile.store %[[STUDENT]] to %stored_student at [%row, %column]
// CHECK-NEXT: logitile.store %[[TEACHER]] to %stored_teacher at [%row, %column]
// CHECK-NEXT: %next = logitile.update_state(%running) with(%[[STUDENT]], %[[TEACHER]]) at %column below 300 :
// CHECK: } update {
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %[[S:.*]]: f32, %[[T:.*]]: f32):
// CHECK-NEXT: %{{.*}} = arith.subf %[[T]], %[[S]] : f32

// Only the student has a gradient.
// CHECK-LABEL: logitile.kernel @gradient(
// CHECK: %[[STUDENT:.*]] = logitile.load %stored_student
// CHECK-NEXT: %[[TEACHER:.*]] = logitile.load %stored_teacher
// CHECK-NEXT: %g = logitile.map(%[[STUDENT]], %[[TEACHER]]) at %column : (!logitile.tile<64x32xf32>, !logitile.tile<64x32xf32>) -> !logitile.tile<64x32xf32> {
// CHECK: logitile.store %g to %grad_student at [%row, %column]
// CHECK-NOT: grad_teacher
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
  logitile.gradient {
    %teacher = logitile.input logits "teacher" : f32
    %student = logitile.input logits "student" : f32
    %difference = arith.subf %teacher, %student : f32
    logitile.adjoint logits "student" dense %difference
  }
  logitile.schedule tokens [0, 4096) vocab_split 100 stored 300 {
    logitile.buffer @tokens_map call token_map : !logitile.view<?xi32>
    logitile.buffer @student_hidden input hidden of "student" : !logitile.view<?x24xf32>
    logitile.buffer @student_weight input weight of "student" : !logitile.view<300x24xf32>
    logitile.buffer @teacher_hidden input hidden of "teacher" : !logitile.view<?x40xf32>
    logitile.buffer @teacher_weight input weight of "teacher" : !logitile.view<300x40xf32>
    logitile.buffer @packed_teacher_rows chunk packed_rows of "teacher" : !logitile.view<?x40xf32, row_panels>
    logitile.buffer @stored_student chunk stored of "student" : !logitile.view<?x300xf32>
    logitile.buffer @stored_teacher chunk stored of "teacher" : !logitile.view<?x300xf32>
    logitile.buffer @grad_student chunk logit_gradient of "student" alias @stored_student : !logitile.view<?x300xf32>
    logitile.buffer @state_s_sum chunk row_state of @s[0] : !logitile.view<3x?xf32>
    logitile.run forward {
      logitile.launch "sweep" from @sweep<TM = 64, TN = 32, TK = 16, GROUP = 1, acc = f32> using panels sweep @s store
      logitile.launch "gradient" from @gradient<TM = 64, TN = 32, TK = 16, CENTRE = 32, acc = f32>
    }
  }
}
