# The gtest programs of the runtime. Kernels of hand-made plans come from C, so that these tests do
# not need the compiler.
find_program(LOGITILE_KERNEL_CLANG NAMES clang-22 clang HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
set(runtime_kernels ${CMAKE_CURRENT_BINARY_DIR}/runtime_kernels.o)
add_custom_command(OUTPUT ${runtime_kernels}
  COMMAND ${LOGITILE_KERNEL_CLANG} -std=c11 -O2 -Wall -Wextra -Wno-unused-parameter -Werror -c ${CMAKE_CURRENT_LIST_DIR}/runtime_kernels.c -o ${runtime_kernels}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/runtime_kernels.c VERBATIM)
add_custom_target(runtime-kernels DEPENDS ${runtime_kernels})

# What these programs share: the hand-made plans, and calls of them.
logitile_library(LogitileRuntimeHarness unit/runtime/RuntimePlans.cpp unit/runtime/RuntimeCalls.cpp)
target_compile_definitions(LogitileRuntimeHarness PRIVATE RUNTIME_KERNELS="${runtime_kernels}")
target_link_libraries(LogitileRuntimeHarness PUBLIC LogitileRuntime GTest::gtest)
add_dependencies(LogitileRuntimeHarness runtime-kernels)

# logitile_runtime_test(<name> <sources>...): one gtest program over hand-made plans.
function(logitile_runtime_test name)
  list(TRANSFORM ARGN PREPEND unit/)
  logitile_unit_test(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE LogitileRuntimeHarness)
endfunction()

logitile_runtime_test(runtime_call_test runtime/call_test.cpp)
logitile_runtime_test(runtime_refusals_test runtime/refusals_test.cpp)
logitile_runtime_test(runtime_plan_file_test runtime/plan_file_test.cpp)
logitile_runtime_test(runtime_key_test runtime/key_test.cpp)
logitile_runtime_test(runtime_threads_test runtime/threads_test.cpp)
logitile_runtime_test(runtime_cpu_rates_test runtime/cpu_rates_test.cpp)
logitile_runtime_test(runtime_workspace_test runtime/workspace_test.cpp)
logitile_runtime_test(runtime_cache_test runtime/cache_test.cpp)
logitile_runtime_test(runtime_disk_cache_test runtime/disk_cache_test.cpp)
logitile_runtime_test(runtime_disk_processes_test runtime/disk_processes_test.cpp)
logitile_runtime_test(runtime_engine_test runtime/engine_test.cpp)
logitile_runtime_test(runtime_inputs_test runtime/inputs_test.cpp)
logitile_runtime_test(runtime_background_job_test runtime/background_job_test.cpp)

# Saved plans, for tests that have no C++.
add_executable(write_plans unit/runtime/write_plans.cpp)
target_compile_options(write_plans PRIVATE ${logitile_compile_options})
target_link_libraries(write_plans PRIVATE LogitileRuntimeHarness)
target_link_options(write_plans PRIVATE -Wl,--gc-sections -Wl,--as-needed)
set(test_plans ${CMAKE_CURRENT_BINARY_DIR}/plans)
add_custom_command(OUTPUT ${test_plans}/split.plan ${test_plans}/early.plan ${test_plans}/forward.plan
  COMMAND ${CMAKE_COMMAND} -E make_directory ${test_plans} COMMAND write_plans ${test_plans} DEPENDS write_plans VERBATIM)
add_custom_target(test-plans ALL DEPENDS ${test_plans}/split.plan)

# A C program against the shared library, as a user of the C interface builds it.
add_executable(run_plan c/run_plan.c)
target_compile_options(run_plan PRIVATE ${logitile_compile_options})
target_link_libraries(run_plan PRIVATE logitile_core m)
logitile_unit_test(runtime_c_test unit/runtime/c_test.cpp)
target_compile_definitions(runtime_c_test-objects PRIVATE RUN_PLAN="$<TARGET_FILE:run_plan>" TEST_PLANS="${test_plans}")
add_dependencies(runtime_c_test run_plan test-plans)

include(unit/cuda/cuda.cmake)

# A kind of device that the tree does not know.
logitile_unit_test(interpreter_test backends/interpreter/interpreter_test.cpp backends/interpreter/InterpreterDevice.cpp
  backends/interpreter/InterpreterTarget.cpp backends/interpreter/Kernel.cpp backends/interpreter/Memory.cpp
  backends/interpreter/Scalars.cpp)
target_link_libraries(interpreter_test PRIVATE LogitileRuntimeHarness)
