# Finds LLVM and MLIR 22.1 as Debian packages them; the only file that knows their quirks.
# Everything links statically: one self-contained core library, tools that start in milliseconds,
# and no clash with another LLVM in the process.

# The package accepts only its own major.minor, so a plain "22" would be refused.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${llvm_definitions})
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

# Debian builds MLIR against libLLVM.so, so every MLIR archive names it. With both the archives and
# the shared library in one image, LLVM's command line options register twice and the load fails.
get_property(mlir_archives GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(archive IN LISTS mlir_archives)
  if(TARGET ${archive})
    get_target_property(interface ${archive} INTERFACE_LINK_LIBRARIES)
    if(interface)
      list(REMOVE_ITEM interface LLVM "$<LINK_ONLY:LLVM>" MLIR)
      set_target_properties(${archive} PROPERTIES INTERFACE_LINK_LIBRARIES "${interface}")
    endif()
  endif()
endforeach()

# Compression from archives; z3 is named but no object that we link uses it.
find_library(LOGITILE_ZSTD_ARCHIVE NAMES libzstd.a REQUIRED)
find_library(LOGITILE_ZLIB_ARCHIVE NAMES libz.a REQUIRED)
get_target_property(interface LLVMSupport INTERFACE_LINK_LIBRARIES)
list(FILTER interface EXCLUDE REGEX "libz3|ZLIB::|zstd::")
list(APPEND interface ${LOGITILE_ZLIB_ARCHIVE} ${LOGITILE_ZSTD_ARCHIVE})
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${interface}")

# -B keeps a compiler from taking an older ld.lld found on PATH.
find_program(LOGITILE_LLD NAMES ld.lld PATHS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
if(LOGITILE_LLD)
  add_link_options(-B${LLVM_TOOLS_BINARY_DIR} -fuse-ld=lld)
endif()
