# The gtest programs of the CUDA runtime, over a library that stands in for the driver. It is opened
# by its file as the driver is, and linked to the test that looks into it: one library in the
# process.
add_library(cuda_stand_in SHARED unit/cuda/cuda_stand_in.cpp)
target_compile_options(cuda_stand_in PRIVATE ${logitile_compile_options})
target_include_directories(cuda_stand_in PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(cuda_stand_in PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})

logitile_runtime_test(cuda_runtime_test cuda/cuda_runtime_test.cpp)
target_compile_definitions(cuda_runtime_test-objects PRIVATE CUDA_STAND_IN="$<TARGET_FILE:cuda_stand_in>")
target_link_libraries(cuda_runtime_test PRIVATE cuda_stand_in)

# Our own declarations against NVIDIA's, where they are.
find_path(LOGITILE_CUDA_INCLUDE cuda.h PATHS /usr/local/cuda/include ENV CUDA_HOME PATH_SUFFIXES include)
if(LOGITILE_CUDA_INCLUDE)
  logitile_unit_test(cuda_abi_test unit/cuda/cuda_abi_test.cpp)
  target_include_directories(cuda_abi_test-objects SYSTEM PRIVATE ${LOGITILE_CUDA_INCLUDE})
endif()
