#include "skyfix/report/utf8.h"

#include <spdlog/fmt/fmt.h>

namespace skyfix {
namespace {

std::size_t length_from_first_byte(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (first >= 0xE0 && first <= 0xEF) return 3;
  if (first >= 0xF0 && first <= 0xF4) return 4;
  return 0;
}

// The second byte carries the rules against overlong forms, surrogates and too large values.
bool second_byte_allowed(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return second >= 0x80 && second <= 0xBF;
  }
}

std::string xml_character(std::string_view character) {
  if (character == "&") return "&amp;";
  if (character == "<") return "&lt;";
  if (character == ">") return "&gt;";
  if (character == "\"") return "&quot;";
  if (character == "'") return "&#39;";
  const auto first = static_cast<unsigned char>(character[0]);
  const bool control = character.size() == 1 && first < 0x20 && first != '\t' && first != '\n';
  const bool not_a_character = character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF";
  return control || not_a_character ? "\xEF\xBF\xBD" : std::string(character);
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = length_from_first_byte(byte(0));
  if (length == 0 || length > text.size()) return 0;
  if (length >= 2 && !second_byte_allowed(byte(0), byte(1))) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

std::string utf8_text(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) {
      text += fmt::format("\\x{:02X}", static_cast<unsigned char>(bytes.front()));
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::size_t utf8_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return width;
}

std::string xml_text(std::string_view bytes) {
  const std::string text = utf8_text(bytes);
  std::string escaped;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    escaped += xml_character(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return escaped;
}

}  // namespace skyfix
