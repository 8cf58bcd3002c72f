# Program, library, headers, CMake package, pkg-config file, manual pages and shared data.

include(CMakePackageConfigHelpers)

install(TARGETS kvsim_lib EXPORT kvsim_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET kvsim)
    install(TARGETS kvsim RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(DIRECTORY include/kvsim DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

set(kvsim_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kvsim")
install(EXPORT kvsim_targets NAMESPACE kvsim:: FILE kvsimTargets.cmake DESTINATION "${kvsim_package_dir}")
configure_package_config_file(cmake/kvsimConfig.cmake.in
    "${CMAKE_CURRENT_BINARY_DIR}/kvsimConfig.cmake" INSTALL_DESTINATION "${kvsim_package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/kvsimConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${CMAKE_CURRENT_BINARY_DIR}/kvsimConfig.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/kvsimConfigVersion.cmake"
    DESTINATION "${kvsim_package_dir}")

set(KVSIM_PC_MPI "")
if(KVSIM_MPI)
    set(KVSIM_PC_MPI " mpi-c")
endif()
configure_file(cmake/kvsim.pc.in "${CMAKE_CURRENT_BINARY_DIR}/kvsim.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/kvsim.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

foreach(folder models hardware engines scenarios validation)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${folder}")
        install(DIRECTORY ${folder} DESTINATION "${CMAKE_INSTALL_DATADIR}/kvsim")
    endif()
endforeach()
if(EXISTS "${PROJECT_SOURCE_DIR}/results/queries")
    install(DIRECTORY results/queries DESTINATION "${CMAKE_INSTALL_DATADIR}/kvsim")
endif()
foreach(page kvsim.1 kvsim-scenario.5 kvsim-results.5)
    if(EXISTS "${PROJECT_SOURCE_DIR}/docs/${page}")
        string(REGEX REPLACE ".*\\." "" section "${page}")
        install(FILES docs/${page} DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
    endif()
endforeach()
