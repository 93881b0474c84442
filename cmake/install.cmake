# What an installation has: the tool, the shared library with header, pkg-config file and CMake package, and the data that all
# of them read. Everything is found relative to the library or the tool, so a prefix may be moved.
set(data_directory ${CMAKE_INSTALL_DATADIR}/ridgeline)
if(RDG_WHEEL) # python/pyproject.toml: below the folder of the package
  install(TARGETS ridgeline_shared LIBRARY DESTINATION lib COMPONENT wheel)
  install(DIRECTORY hardware measurements DESTINATION share/ridgeline COMPONENT wheel)
  return()
endif()

install(TARGETS ridgeline)
install(TARGETS ridgeline_shared EXPORT ridgeline)
install(DIRECTORY include/ridgeline DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY hardware measurements DESTINATION ${data_directory})
install(DIRECTORY share/charts DESTINATION ${data_directory} OPTIONAL) # ./dev charts

# find_package(ridgeline): the target ridgeline::ridgeline
include(CMakePackageConfigHelpers)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/ridgeline)
configure_package_config_file(cmake/ridgelineConfig.cmake.in ${CMAKE_BINARY_DIR}/ridgelineConfig.cmake
                              INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/ridgelineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/ridgelineConfig.cmake ${CMAKE_BINARY_DIR}/ridgelineConfigVersion.cmake
        DESTINATION ${package_directory})
install(EXPORT ridgeline NAMESPACE ridgeline:: FILE ridgelineTargets.cmake DESTINATION ${package_directory})

# pkg-config ridgeline: the prefix is where the file is, two levels below or three
file(RELATIVE_PATH pc_to_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/ridgeline.pc.in ${CMAKE_BINARY_DIR}/ridgeline.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/ridgeline.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
