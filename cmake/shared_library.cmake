# libridgeline: all modules in one shared library that exports the functions of include/ridgeline/ridgeline.h, at the version
# of cmake/ridgeline.map. Policy: docs/c-api.md; the list that tests compare with: tests/abi/symbols.txt.
add_library(ridgeline_shared SHARED $<TARGET_OBJECTS:rdg_api>)
target_link_libraries(ridgeline_shared PRIVATE rdg_api)
target_include_directories(ridgeline_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(ridgeline_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/ridgeline.map
                                             LINKER:--gc-sections)
if(NOT RDG_SANITIZE) # the sanitizers' functions come with the program
  target_link_options(ridgeline_shared PRIVATE LINKER:--no-undefined)
endif()
set_target_properties(ridgeline_shared PROPERTIES OUTPUT_NAME ridgeline EXPORT_NAME ridgeline LINKER_LANGUAGE C
                                                  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/ridgeline.map)
if(NOT RDG_WHEEL) # a wheel has no symbolic links: there one file is all
  # Before 1.0 every minor version may change the interface; from 1.0 on, the major version is the number.
  set_target_properties(ridgeline_shared PROPERTIES VERSION ${PROJECT_VERSION}
                                                    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
