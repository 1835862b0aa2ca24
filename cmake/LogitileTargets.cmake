# How our own libraries are compiled: one precompiled header, one set of warnings, one sanitizer
# switch.
set(logitile_compile_options -Wall -Wextra -Wno-unused-parameter)
if(LOGITILE_WERROR)
  list(APPEND logitile_compile_options -Werror)
endif()
# The time goes into LLVM when programs are compiled and into generated code when they run, so none
# of this can be measured.
add_link_options(-Wl,-z,relro -Wl,-z,now)
list(APPEND logitile_compile_options -fstack-protector-strong)
if(NOT LOGITILE_SANITIZE) # which look after library calls themselves
  list(APPEND logitile_compile_options "$<$<NOT:$<CONFIG:Debug>>:SHELL:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>")
endif()
if(LOGITILE_SANITIZE)
  # LLVM's own archives are not instrumented; vptr and function checks would report them.
  add_compile_options(-fsanitize=${LOGITILE_SANITIZE} -fno-sanitize=vptr,function -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${LOGITILE_SANITIZE})
endif()

# An executable compiles -fPIE and refuses a -fPIC header, so test sources go into object libraries.
if(LOGITILE_PCH)
  # CMake also includes the header that the precompiled one is made of, by a path that ccache cannot
  # make relative.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/pch/pch.cpp "")
  add_library(logitile_pch STATIC ${CMAKE_BINARY_DIR}/pch/pch.cpp)
  target_precompile_headers(logitile_pch PUBLIC
    <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h>
    <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/Func/IR/FuncOps.h>
    <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/SCF/IR/SCF.h> <mlir/Dialect/Vector/IR/VectorOps.h>)
  # Without the timestamp ccache can hit through the header.
  target_compile_options(logitile_pch PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>"
                         ${logitile_compile_options})
  # What the header is made of: LLVM's and MLIR's headers, and the compiler. ccache looks at the
  # options itself.
  file(SHA256 ${LLVM_INCLUDE_DIRS}/llvm/Support/VCSRevision.h revision)
  file(SHA256 ${CMAKE_CURRENT_LIST_FILE} list)
  string(SHA256 checksum "${revision} ${LLVM_PACKAGE_VERSION} ${CMAKE_CXX_COMPILER_VERSION} ${list}")
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/logitile_pch.dir/cmake_pch.hxx.pch.sum "${checksum}\n")
endif()

# logitile_compile(<target>): applies the shared settings to a target whose sources use MLIR
# headers.
function(logitile_compile name)
  target_compile_options(${name} PRIVATE ${logitile_compile_options})
  if(LOGITILE_PCH)
    target_precompile_headers(${name} REUSE_FROM logitile_pch)
    target_compile_options(${name} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()

# logitile_library(<name> <sources>...): one layer, or one part of a layer, as a static library.
function(logitile_library name)
  add_library(${name} STATIC ${ARGN})
  logitile_compile(${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
endfunction()

# logitile_plain_library(<name> <sources>...): a static library whose headers are free of MLIR, so
# without the precompiled one.
function(logitile_plain_library name)
  add_library(${name} STATIC ${ARGN})
  target_compile_options(${name} PRIVATE ${logitile_compile_options})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()

# logitile_old_glibc(<target>): it runs with the glibc of 2018, whose functions of threads and
# libraries are in files of their own.
function(logitile_old_glibc name)
  if(LOGITILE_SANITIZE) # which come between the program and these functions
    return()
  endif()
  target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime/support/OldGlibc.c)
  target_link_options(${name} PRIVATE -Wl,--gc-sections)
  target_link_libraries(${name} PRIVATE -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state)
endfunction()

# logitile_shared_library(<name> <sources>...): a library that users get. LLVM and the C++ library
# are inside it, and outside of it are only the names in exports.map of the calling folder. The
# unwinder, libgcc_s, is that of the process: Python ends a thread at its exit by unwinding it, and
# frames whose exception tables are read by a second unwinder abort the process.
function(logitile_shared_library name)
  set(runtime ${PROJECT_SOURCE_DIR}/runtime)
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
  add_library(${name} SHARED ${ARGN} ${runtime}/support/StaticData.cpp)
  target_compile_options(${name} PRIVATE ${logitile_compile_options})
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-Bsymbolic
    -Wl,--as-needed -static-libstdc++ -shared-libgcc)
  if(NOT LOGITILE_SANITIZE) # whose symbols come from the executable, malloc too
    target_sources(${name} PRIVATE ${runtime}/support/NoMemory.cpp)
    target_link_options(${name} PRIVATE -Wl,--no-undefined -Wl,--wrap=malloc -Wl,--wrap=__cxa_allocate_exception)
  endif()
  logitile_old_glibc(${name})
  set_property(TARGET ${name} PROPERTY LINK_DEPENDS ${exports})
endfunction()
