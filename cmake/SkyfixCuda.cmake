# libskyfix_cuda.so: every room's *.cu (kernels: pointers, sizes and a stream, no LibTorch) and
# *_cuda.cc (the thin side that LibTorch's headers may enter). Opened at run time, never linked.
#
# CMake's own CUDA language wants an installed toolkit; the compiler from the wheels is called as it
# is. CMAKE_CUDA_ARCHITECTURES: 75;80;90 ... ; by default that of this machine's GPU, or 90.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
  find_program(NVIDIA_SMI nvidia-smi)
  if(NVIDIA_SMI)
    execute_process(COMMAND ${NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader
                    OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    string(REGEX MATCH "^[0-9]+[.][0-9]+" found "${found}")
    if(NOT failed AND found)
      string(REPLACE "." "" CMAKE_CUDA_ARCHITECTURES ${found})
    endif()
  endif()
endif()

# Machine code for each architecture, and PTX of the last for those to come.
function(skyfix_cuda_targets out)
  set(flags)
  foreach(arch ${CMAKE_CUDA_ARCHITECTURES})
    list(APPEND flags -gencode arch=compute_${arch},code=sm_${arch})
    set(last ${arch})
  endforeach()
  list(APPEND flags -gencode arch=compute_${last},code=compute_${last})
  set(${out} ${flags} PARENT_SCOPE)
endfunction()

# Compiles one .cu to an object; ${out} is its path.
function(skyfix_compile_cu source out)
  file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
  set(object ${CMAKE_BINARY_DIR}/cuda/${name}.o)
  get_filename_component(folder ${object} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  skyfix_cuda_targets(targets)
  set(warnings -Xcompiler=-Wall,-Wextra,-Wno-sign-compare)
  if(SKYFIX_WERROR)
    list(APPEND warnings -Werror all-warnings)
  endif()
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_CUDA_COMPILER_LAUNCHER} ${SKYFIX_WHEELS}/nvidia/cu13/bin/nvcc -ccbin g++ -std=c++20 -O3
            ${targets} -I${CMAKE_SOURCE_DIR}/src -Xcompiler=-fPIC,-fvisibility=hidden ${warnings}
            -c ${source} -o ${object} -MD -MF ${object}.d
    DEPENDS ${source} DEPFILE ${object}.d COMMENT "nvcc ${name}" VERBATIM COMMAND_EXPAND_LISTS)
  set(${out} ${object} PARENT_SCOPE)
endfunction()

function(skyfix_cuda_library)
  get_property(files GLOBAL PROPERTY SKYFIX_CUDA_SOURCES)
  set(objects)
  set(sources)
  foreach(file ${files})
    if(file MATCHES "[.]cu$")
      skyfix_compile_cu(${file} object)
      list(APPEND objects ${object})
    else()
      list(APPEND sources ${file})
    endif()
  endforeach()
  add_library(skyfix_cuda SHARED ${sources} ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set_target_properties(skyfix_cuda PROPERTIES LINKER_LANGUAGE CXX CXX_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  # Parts of these static libraries go into it.
  set_target_properties(skyfix_base skyfix_memory skyfix_match PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(skyfix_cuda PRIVATE skyfix_match skyfix_memory skyfix::torch_cuda)
  # Loading torch_cuda is what gives LibTorch its CUDA operators; no symbol of it is called here.
  target_link_options(skyfix_cuda PRIVATE -Wl,--exclude-libs,ALL
    -Wl,--push-state,--no-as-needed ${SKYFIX_WHEELS}/torch/lib/libtorch_cuda.so -Wl,--pop-state)
endfunction()
