# LibTorch from the wheels that scripts/wheels unpacks, as imported targets: find_package(Torch)
# insists on a CUDA toolkit even where none is needed.
#
#   skyfix::torch       torch_cpu and c10, all that an executable may link
#   skyfix::torch_cuda  what libskyfix_cuda.so links besides
#   SKYFIX_CUDA         whether libskyfix_cuda.so is built (the compiler wheels are there)
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/wheels path OUTPUT_VARIABLE wheels
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(SKYFIX_WHEELS ${wheels} CACHE PATH "Where scripts/wheels unpacked LibTorch")
set(torch_lib ${SKYFIX_WHEELS}/torch/lib)
set(cuda_root ${SKYFIX_WHEELS}/nvidia/cu13)
if(NOT EXISTS ${torch_lib}/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch is not in ${SKYFIX_WHEELS}: run scripts/bootstrap, or "
                      "scripts/wheels install run")
endif()

function(skyfix_import name file)
  add_library(${name} SHARED IMPORTED)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${file})
endfunction()
skyfix_import(skyfix::torch_cpu_library ${torch_lib}/libtorch_cpu.so)
skyfix_import(skyfix::c10_library ${torch_lib}/libc10.so)
skyfix_import(skyfix::torch_cuda_library ${torch_lib}/libtorch_cuda.so)
skyfix_import(skyfix::c10_cuda_library ${torch_lib}/libc10_cuda.so)
skyfix_import(skyfix::cudart_library ${cuda_root}/lib/libcudart.so.13)

add_library(skyfix_torch INTERFACE)
add_library(skyfix::torch ALIAS skyfix_torch)
# Looked at last: LibTorch brings another version of fmt, which must not hide the one we link.
target_compile_options(skyfix_torch INTERFACE "SHELL:-idirafter ${SKYFIX_WHEELS}/torch/include"
  "SHELL:-idirafter ${SKYFIX_WHEELS}/torch/include/torch/csrc/api/include")
target_link_libraries(skyfix_torch INTERFACE skyfix::torch_cpu_library skyfix::c10_library)

# LibTorch brings BLAS and LAPACK functions of its own (MKL), by the usual names, and the first library
# that has a function serves the whole program. With OpenBLAS in its place LibTorch's own attention
# takes five times as long; FAISS and Ceres do well with either. Call it before other libraries are linked.
function(skyfix_blas_of_torch target)
  target_link_options(${target} PRIVATE
    -Wl,--push-state,--no-as-needed ${SKYFIX_WHEELS}/torch/lib/libtorch_cpu.so -Wl,--pop-state)
endfunction()

add_library(skyfix_torch_cuda INTERFACE)
add_library(skyfix::torch_cuda ALIAS skyfix_torch_cuda)
target_include_directories(skyfix_torch_cuda SYSTEM INTERFACE ${cuda_root}/include)
target_link_libraries(skyfix_torch_cuda INTERFACE skyfix_torch skyfix::c10_cuda_library skyfix::cudart_library)

set(have_nvcc OFF)
if(EXISTS ${cuda_root}/bin/nvcc)
  set(have_nvcc ON)
endif()
option(SKYFIX_CUDA "Build libskyfix_cuda.so (needs: scripts/wheels install compile)" ${have_nvcc})

# ATen/ATen.h, precompiled once: a source that includes LibTorch then compiles in a fourth of the time.
file(WRITE ${CMAKE_BINARY_DIR}/torch_headers.cc "")
add_library(skyfix_torch_headers OBJECT ${CMAKE_BINARY_DIR}/torch_headers.cc)
target_link_libraries(skyfix_torch_headers PRIVATE skyfix_flags skyfix::torch)
target_precompile_headers(skyfix_torch_headers PRIVATE <ATen/ATen.h>)
function(skyfix_torch_headers target)
  target_precompile_headers(${target} REUSE_FROM skyfix_torch_headers)
endfunction()
