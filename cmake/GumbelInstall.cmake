# `cmake --install`: headers, library, program and a package that find_package(gumbel) finds.
include(CMakePackageConfigHelpers)
set(GUMBEL_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/gumbel)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gumbel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS gumbel_core EXPORT gumbel ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS gumbel RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT gumbel NAMESPACE gumbel:: FILE gumbelTargets.cmake
        DESTINATION ${GUMBEL_PACKAGE_DIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/gumbelConfig.cmake.in
  ${PROJECT_BINARY_DIR}/gumbelConfig.cmake INSTALL_DESTINATION ${GUMBEL_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gumbelConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gumbelConfig.cmake
              ${PROJECT_BINARY_DIR}/gumbelConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/GumbelPthreadpool.cmake
        DESTINATION ${GUMBEL_PACKAGE_DIR})
