// A mapped text file read line by line and word by word; an error names the file and the line.
#pragma once

#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "skyfix/base/file.h"
#include "skyfix/map/colmap_records.h"

namespace skyfix::colmap_io {

class TextCursor : public RecordSource {
 public:
  explicit TextCursor(const std::filesystem::path& file);

  // To the next line that is neither blank nor a comment (#); false at the end of the file.
  bool next_record();
  // To the very next line, whatever it holds; at the end of the file the line is empty.
  void next_line();

  // True when no word is left on the line.
  bool line_done();
  // The next word. Fails when there is none; `what` names it, e.g. "image id".
  std::string_view take_word(const char* what);
  // The rest of the line behind the blanks that follow the last word: a name that may hold blanks.
  std::string_view take_rest(const char* what);

  // A number with '.' whatever the locale; anything else in the word fails.
  template <class T>
  T take(const char* what) {
    const std::string_view word = take_word(what);
    T value{};
    const std::size_t sign = word.front() == '+' ? 1 : 0;
    const char* end = word.data() + word.size();
    const auto [stop, failure] = std::from_chars(word.data() + sign, end, value);
    if (failure != std::errc() || stop != end) fail_number(word, what);
    return value;
  }
  // An id, for which -1 stands for "none".
  template <class Id>
  Id take_id(const char* what) {
    if (const std::string_view word = peek_word(); word == "-1") {
      take_word(what);
      return Id();
    }
    return Id(take<typename Id::value_type>(what));
  }
  PoseNumbers take_pose();

 private:
  std::string place() const override;
  const std::filesystem::path& file() const override { return file_.path(); }
  std::string_view peek_word();
  [[noreturn]] void fail_number(std::string_view word, const char* what) const;

  MappedFile file_;
  std::string_view rest_of_file_;
  std::string_view line_;  // what is left of it
  std::size_t line_number_ = 0;
};

}  // namespace skyfix::colmap_io
