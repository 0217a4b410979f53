# Flags and tools that hold for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Precompiled headers need the two sloppiness switches; base_dir lets two checkouts share results.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
# A program loads what it uses: the benchmarks and GPU tests start where OpenCV is not installed.
add_link_options(-Wl,--as-needed)

# scripts/dist: libraries are found beside the program, wherever the folder is put. The old kind of
# path (RPATH) also serves what the libraries load in turn.
if(SKYFIX_RELOCATABLE)
  set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
  set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN/../lib/torch/lib;$ORIGIN/../lib/nvidia/cu13/lib")
  add_link_options(-Wl,--disable-new-dtags)
endif()

add_library(skyfix_flags INTERFACE)
target_include_directories(skyfix_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(skyfix_flags INTERFACE -Wall -Wextra -Wno-sign-compare
                                              $<$<BOOL:${SKYFIX_WERROR}>:-Werror>)
if(SKYFIX_SANITIZE)
  add_compile_options(-fsanitize=${SKYFIX_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${SKYFIX_SANITIZE})
endif()

if(SKYFIX_FUZZERS)
  # Without this the libraries are not instrumented, and fuzzing goes blind.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_custom_target(fuzzers)
endif()

find_package(Git QUIET)
set(SKYFIX_GIT_REVISION unknown)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                  OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(SKYFIX_GIT_REVISION ${revision})
  endif()
endif()
