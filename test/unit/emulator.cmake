# The gtest programs of the emulator: kernels are LLVM IR text in the tests.
foreach(name async checks instructions loading matrices schedules)
  logitile_unit_test(emulator_${name}_test unit/emulator_${name}_test.cpp unit/EmulatorHarness.cpp)
  target_link_libraries(emulator_${name}_test PRIVATE LogitileEmulator)
endforeach()
