// Names come from file systems and may be any bytes; what we write is UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace skyfix {

// Bytes taken by the well-formed UTF-8 character at the front of `text`, 0 where it is not one
// (cut, overlong, surrogate, beyond U+10FFFF, or text is empty).
std::size_t utf8_length(std::string_view text);

// `bytes` where it is UTF-8; each byte that is not becomes the four characters \xNN, so that two
// different names stay different for a reader.
std::string utf8_text(std::string_view bytes);

// Characters of a UTF-8 text: what an aligned column counts.
std::size_t utf8_width(std::string_view text);

// For XML text and attributes: & < > " ' escaped, characters that XML 1.0 forbids as U+FFFD,
// stray bytes as in utf8_text.
std::string xml_text(std::string_view bytes);

}  // namespace skyfix
