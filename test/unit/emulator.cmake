# The gtest programs of the emulator: kernels are LLVM IR text in the tests.
foreach(name async checks instructions loading matrices schedules)
  logitile_unit_test(emulator_${name}_test unit/emulator_${name}_test.cpp unit/EmulatorHarness.cpp)
  target_link_libraries(emulator_${name}_test PRIVATE LogitileEmulator)
endforeach()

# Real kernels with bugs put into them: the compiler and the runtime take part.
logitile_unit_test(seeded_kernels_test unit/seeded_kernels_test.cpp unit/SeededKernels.cpp unit/RuntimePlans.cpp unit/RuntimeCalls.cpp)
target_compile_definitions(seeded_kernels_test-objects PRIVATE RUNTIME_KERNELS="${runtime_kernels}")
target_link_libraries(seeded_kernels_test PRIVATE LogitileRuntime)
add_dependencies(seeded_kernels_test runtime-kernels)
