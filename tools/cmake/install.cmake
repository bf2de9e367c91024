# What `cmake --install` puts where, and the package that find_package(pipecast) reads.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/pipecast)

install(TARGETS pipecast_all ${PIPECAST_ROOMS} EXPORT pipecast-targets)
install(EXPORT pipecast-targets NAMESPACE pipecast:: DESTINATION ${package_folder})
if(TARGET pipecast)
  install(TARGETS pipecast)
endif()

install(DIRECTORY sim schedules platforms DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/pipecast
        FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY platforms scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/pipecast
        FILES_MATCHING PATTERN "*.yaml" PATTERN "*.csv" PATTERN "*.xml")

configure_package_config_file(tools/cmake/pipecast-config.cmake.in ${PROJECT_BINARY_DIR}/pipecast-config.cmake
                              INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pipecast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pipecast-config.cmake ${PROJECT_BINARY_DIR}/pipecast-config-version.cmake
        DESTINATION ${package_folder})
