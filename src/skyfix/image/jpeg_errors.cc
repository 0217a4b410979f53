#include "skyfix/image/jpeg_errors.h"

// jerror.h needs jpeglib.h first.
#include <jerror.h>

namespace skyfix::codec {
namespace {

JpegErrors& errors_of(j_common_ptr common) { return *reinterpret_cast<JpegErrors*>(common->err); }

[[noreturn]] void jump_out(j_common_ptr common) {
  JpegErrors& errors = errors_of(common);
  common->err->format_message(common, errors.text);
  std::longjmp(errors.jump, 1);
}

// Warnings that leave every pixel intact. All others (premature end, bad codes, lost
// synchronisation) mean that a part of the picture is made up.
bool harmless(int message_code) {
  return message_code == JWRN_EXTRANEOUS_DATA || message_code == JWRN_JFIF_MAJOR ||
         message_code == JWRN_ADOBE_XFORM || message_code == JWRN_NOT_SEQUENTIAL;
}

void on_message(j_common_ptr common, int level) {
  constexpr int kWarning = -1;
  if (level == kWarning && !harmless(common->err->msg_code)) jump_out(common);
}

void print_nothing(j_common_ptr) {}

}  // namespace

jpeg_error_mgr* JpegErrors::attach() {
  jpeg_std_error(&base);
  base.error_exit = jump_out;
  base.emit_message = on_message;
  base.output_message = print_nothing;
  text[0] = '\0';
  return &base;
}

}  // namespace skyfix::codec
