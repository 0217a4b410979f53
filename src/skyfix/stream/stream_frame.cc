#include "skyfix/stream/stream_frame.h"

namespace skyfix {

std::string_view stream_status_name(StreamStatus status) {
  switch (status) {
    case StreamStatus::ok:
      return "ok";
    case StreamStatus::rejected:
      return "rejected";
    case StreamStatus::failed:
      return "failed";
    case StreamStatus::skipped:
      return "skipped";
  }
  return "";
}

}  // namespace skyfix
