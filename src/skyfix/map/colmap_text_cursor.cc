#include "skyfix/map/colmap_text_cursor.h"

#include <algorithm>

namespace skyfix::colmap_io {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

TextCursor::TextCursor(const std::filesystem::path& file)
    : file_(file), rest_of_file_(file_.text()) {
  if (rest_of_file_.starts_with(kByteOrderMark)) rest_of_file_.remove_prefix(kByteOrderMark.size());
}

void TextCursor::next_line() {
  ++line_number_;
  const std::size_t end = std::min(rest_of_file_.find('\n'), rest_of_file_.size());
  line_ = rest_of_file_.substr(0, end);
  rest_of_file_.remove_prefix(std::min(end + 1, rest_of_file_.size()));
}

bool TextCursor::next_record() {
  while (!rest_of_file_.empty()) {
    next_line();
    if (!line_done() && line_.front() != '#') return true;
  }
  return false;
}

bool TextCursor::line_done() {
  while (!line_.empty() && is_blank(line_.front())) line_.remove_prefix(1);
  return line_.empty();
}

std::string_view TextCursor::peek_word() {
  if (line_done()) return {};
  std::size_t end = 1;
  while (end < line_.size() && !is_blank(line_[end])) ++end;
  return line_.substr(0, end);
}

std::string_view TextCursor::take_word(const char* what) {
  const std::string_view word = peek_word();
  if (word.empty()) fail("the line ends where the " + std::string(what) + " should be");
  line_.remove_prefix(word.size());
  return word;
}

std::string_view TextCursor::take_rest(const char* what) {
  if (line_done()) fail("the line ends where the " + std::string(what) + " should be");
  std::string_view rest = line_;
  while (is_blank(rest.back())) rest.remove_suffix(1);
  line_ = {};
  return rest;
}

PoseNumbers TextCursor::take_pose() {
  PoseNumbers numbers;
  for (double& number : numbers) number = take<double>("pose number");
  return numbers;
}

std::string TextCursor::place() const {
  return file_.path().filename().string() + ": line " + std::to_string(line_number_);
}

void TextCursor::fail_number(std::string_view word, const char* what) const {
  std::string message = "'" + std::string(word.substr(0, 40)) + "' is no number for the " + what;
  if (word.find(',') != std::string_view::npos) {
    message += "; numbers need '.' as the decimal mark and blanks between them";
  }
  fail(message);
}

}  // namespace skyfix::colmap_io
