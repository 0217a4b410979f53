// libjpeg's error manager for reading and writing: faults, and the warnings that mean lost picture
// data, jump back to run_guarded(); nothing is printed.
#pragma once

// jpeglib.h needs the two headers before it.
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include <csetjmp>
#include <string>

namespace skyfix::codec {

struct JpegErrors {
  jpeg_error_mgr base;  // first: libjpeg hands out a pointer to it
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];

  // Sets the handlers; the result goes into the codec's `err`.
  jpeg_error_mgr* attach();
  // What the last fault was, in libjpeg's words.
  std::string message() const { return text; }
};

}  // namespace skyfix::codec
