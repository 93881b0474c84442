# rdg_module(name deps...): src/<name>/*.c as the static library rdg_<name> with exactly these modules visible.
function(rdg_module name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
  add_library(rdg_${name} STATIC ${sources})
  set_target_properties(rdg_${name} PROPERTIES LINKER_LANGUAGE C)
  target_link_libraries(rdg_${name} PUBLIC rdg_options)
  foreach(dep ${ARGN})
    target_link_libraries(rdg_${name} PUBLIC rdg_${dep})
  endforeach()
  target_compile_definitions(rdg_${name} PRIVATE RDG_VERSION="${PROJECT_VERSION}"
                                                 RDG_HARDWARE_DIR="${CMAKE_SOURCE_DIR}/hardware"
                                                 RDG_INSTALL_HARDWARE_DIR="${CMAKE_INSTALL_PREFIX}/share/ridgeline/hardware")
  if(name STREQUAL "api")
    target_include_directories(rdg_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include)
  endif()
endfunction()
