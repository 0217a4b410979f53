# The four OpenCV libraries we use, as imported targets. Debian's package configuration file comes
# only with libopencv-dev, which drags some forty more packages along.
find_path(OPENCV_INCLUDE_DIR opencv2/core.hpp PATH_SUFFIXES opencv4 REQUIRED)
foreach(part core imgproc features2d calib3d)
  find_library(OPENCV_${part}_LIBRARY opencv_${part} REQUIRED)
  if(NOT TARGET opencv_${part})
    add_library(opencv_${part} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(opencv_${part} PROPERTIES IMPORTED_LOCATION ${OPENCV_${part}_LIBRARY})
    target_include_directories(opencv_${part} SYSTEM INTERFACE ${OPENCV_INCLUDE_DIR})
  endif()
endforeach()
