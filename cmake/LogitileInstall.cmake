# What programs in C and C++ get. 'cmake --install build --component runtime' installs the library
# that runs saved plans, '--component core' the whole one; each brings the headers and the package
# of CMake. The wheel has the same, in the folder of the Python package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(packages ${CMAKE_BINARY_DIR}/cmake)
write_basic_package_version_file(${packages}/logitileConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# logitile_package(<folder> <from there to the prefix> <from the prefix to the libraries>
# <component>...)
function(logitile_package folder TO_PREFIX LIBRARIES)
  set(config ${packages}/${ARGV3}/logitileConfig.cmake)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/logitileConfig.cmake.in ${config} @ONLY)
  foreach(component IN LISTS ARGN)
    install(FILES ${config} ${packages}/logitileConfigVersion.cmake DESTINATION ${folder} COMPONENT ${component})
  endforeach()
endfunction()

logitile_package(logitile/cmake .. . python)
set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/logitile)
file(RELATIVE_PATH to_prefix /prefix/${folder} /prefix)
logitile_package(${folder} ${to_prefix} ${CMAKE_INSTALL_LIBDIR} runtime core)
foreach(component runtime core)
  install(FILES ${PROJECT_SOURCE_DIR}/runtime/logitile.h ${PROJECT_BINARY_DIR}/dialect/logitile_request.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT ${component})
endforeach()
install(TARGETS logitile_runtime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(TARGETS logitile_core logitile_emulator LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT core)
install(TARGETS logitile-stage RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT core) # beside the core, which starts it
