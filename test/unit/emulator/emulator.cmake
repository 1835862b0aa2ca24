# The gtest programs of the emulator: kernels are LLVM IR text in the tests.
logitile_library(LogitileEmulatorHarness unit/emulator/EmulatorHarness.cpp)
target_link_libraries(LogitileEmulatorHarness PUBLIC LogitileEmulator LogitileHostCode GTest::gtest)
set(kernel_tests async checks instructions matrices numerics values)
foreach(name ${kernel_tests} bounds bulk cluster ends hopper loading mbarriers order ptx schedules wgmma)
  logitile_unit_test(emulator_${name}_test unit/emulator/${name}_test.cpp)
  target_link_libraries(emulator_${name}_test PRIVATE LogitileEmulatorHarness)
endforeach()

# Tests of the runtime are linked to it, so to them the emulator's library belongs beside the test.
add_custom_target(emulator-beside-tests DEPENDS logitile_emulator
  COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:logitile_emulator>
          ${CMAKE_CURRENT_BINARY_DIR}/$<TARGET_FILE_NAME:logitile_emulator> VERBATIM)

# Real kernels with bugs put into them: the compiler and the runtime take part.
logitile_unit_test(seeded_kernels_test unit/emulator/seeded_kernels_test.cpp unit/emulator/SeededKernels.cpp)
target_link_libraries(seeded_kernels_test PRIVATE LogitileRuntimeHarness)
add_dependencies(seeded_kernels_test emulator-beside-tests)

# Those whose kernels mean the same on a GPU, as one program that compares the two:
# bench/gpu_check.sh runs it.
add_library(gpu_conformance-objects OBJECT unit/emulator/GpuMachine.cpp)
logitile_compile(gpu_conformance-objects)
target_link_libraries(gpu_conformance-objects PRIVATE LogitileRuntime LogitileEmulatorHarness)
list(TRANSFORM kernel_tests REPLACE "(.+)" "$<TARGET_OBJECTS:emulator_\\1_test-objects>" OUTPUT_VARIABLE objects)
add_executable(gpu_conformance $<TARGET_OBJECTS:gpu_conformance-objects> ${objects})
target_link_libraries(gpu_conformance PRIVATE LogitileRuntime LogitileEmulatorHarness GTest::gtest_main)
target_link_options(gpu_conformance PRIVATE -Wl,--gc-sections -Wl,--as-needed -static-libstdc++ -static-libgcc)

# Runs CUDA programs of others in the emulator, for test/foreign. Their host code calls functions of
# it.
add_executable(foreign_driver foreign/driver.cpp)
target_compile_options(foreign_driver PRIVATE ${logitile_compile_options})
target_link_libraries(foreign_driver PRIVATE LogitileEmulator LogitileHostCode ${CMAKE_DL_LIBS})
target_link_options(foreign_driver PRIVATE -Wl,--gc-sections -Wl,--as-needed)
set_target_properties(foreign_driver PROPERTIES ENABLE_EXPORTS ON CXX_VISIBILITY_PRESET default)
