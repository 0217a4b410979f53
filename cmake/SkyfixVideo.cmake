# libskyfix_video.so: the *_ffmpeg.cc of the room frames, the only code that is linked with FFmpeg.
# Opened at run time, never linked. libavdevice (cameras) is opened by it in its turn: it would bring
# a hundred libraries more.
find_package(PkgConfig REQUIRED)
pkg_check_modules(FFMPEG REQUIRED IMPORTED_TARGET libavformat libavcodec libswscale libavutil)
find_path(AVDEVICE_INCLUDE_DIR libavdevice/version.h PATHS ${FFMPEG_INCLUDE_DIRS} PATH_SUFFIXES ffmpeg REQUIRED)

function(skyfix_video_library)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/skyfix/frames/*_ffmpeg.cc)
  add_library(skyfix_video SHARED ${sources})
  set_target_properties(skyfix_video PROPERTIES CXX_VISIBILITY_PRESET hidden
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  # Errors go into it.
  set_target_properties(skyfix_base PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(skyfix_video PRIVATE skyfix_base PkgConfig::FFMPEG ${CMAKE_DL_LIBS})
  target_link_options(skyfix_video PRIVATE -Wl,--exclude-libs,ALL)
endfunction()
