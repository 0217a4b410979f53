// Sizes of memory as a user types and reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skyfix {

// Bytes in "8GiB", "8 GiB", "7.5g", "512MB" or "8000000000". Case does not matter, blanks around
// number and unit are ignored. KiB, MiB, GiB, TiB are powers of 1024 and so are K, M, G, T, since
// that is how memory is sold; KB, MB, GB, TB are powers of 1000; no unit or B is bytes. Fractions
// are rounded to the nearest byte. Throws Error(Reason::bad_option) naming `option` and the text
// for anything else, for 0, and for what exceeds 64 bits.
std::uint64_t parse_byte_size(std::string_view text, std::string_view option);

// "7.52 GiB": two decimals and the largest binary unit that leaves at least 1; "17 B" below 1 KiB.
std::string format_byte_size(std::uint64_t bytes);

}  // namespace skyfix
