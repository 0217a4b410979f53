// Fuzzes where JPEGs end in a stream that comes in pieces.
#include <cassert>
#include <cstdint>
#include <span>

#include "skyfix/frames/pipe_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using State = skyfix::JpegScanner::State;
  const auto bytes = std::as_bytes(std::span(data, size));
  skyfix::JpegScanner at_once;
  const State whole = at_once.scan(bytes);
  skyfix::JpegScanner in_pieces;
  State state = State::wants_more;
  for (std::size_t there = 0; there <= size && state == State::wants_more; ++there) {
    state = in_pieces.scan(bytes.first(there));
  }
  if (state != whole) __builtin_trap();
  if (whole == State::whole && at_once.size() != in_pieces.size()) __builtin_trap();
  return 0;
}
