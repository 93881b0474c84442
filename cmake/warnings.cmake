# The warning set of the project: clean under gcc 12 and clang 14.
add_library(rdg_options INTERFACE)
target_include_directories(rdg_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(
  rdg_options INTERFACE -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes>
                        -fno-strict-aliasing)
if(RDG_WERROR)
  target_compile_options(rdg_options INTERFACE -Werror)
endif()
if(RDG_SANITIZE)
  target_compile_options(rdg_options INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer
                                               -fno-sanitize-recover=undefined)
  target_link_options(rdg_options INTERFACE -fsanitize=address,undefined)
endif()
if(RDG_COVERAGE)
  target_compile_options(rdg_options INTERFACE --coverage)
  target_link_options(rdg_options INTERFACE --coverage)
endif()
