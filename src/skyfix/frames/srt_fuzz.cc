// Fuzzes DJI's side files.
#include <cstdint>
#include <string_view>

#include "skyfix/frames/srt.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto track =
      skyfix::SrtTrack::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  for (const std::int64_t time_ns : {0LL, 1'000'000'000LL, 3'600'000'000'000LL, -1LL}) {
    track.at(time_ns);
  }
  return 0;
}
