#include "skyfix/models/mast3r/literal_text.h"

#include <cctype>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace skyfix {
namespace {

constexpr int kDeepest = 16;  // tuples in tuples
constexpr std::size_t kLongestText = 1 << 20;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  LiteralCall call() {
    if (text_.size() > kLongestText) fail("less text");
    LiteralCall call;
    if (take('{')) {
      arguments(call, '}', ':');
    } else {
      call.name = word();
      if (call.name.empty() || !take('(')) fail("NAME( or {");
      arguments(call, ')', '=');
    }
    if (skip_spaces(); at_ != text_.size()) fail("the end");
    return call;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    throw std::invalid_argument("expected " + expected + " at byte " + std::to_string(at_));
  }
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  template <class Belongs>
  std::string run(Belongs belongs) {
    skip_spaces();
    const std::size_t begin = at_;
    while (at_ < text_.size() && belongs(static_cast<unsigned char>(text_[at_]))) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string word() {
    return run([](unsigned char c) { return std::isalnum(c) || c == '_'; });
  }

  void arguments(LiteralCall& call, char close, char between) {
    while (!take(close)) {
      const std::string key = close == '}' ? quoted() : word();
      if (key.empty() || !take(between)) fail("key" + std::string(1, between) + "value");
      if (!call.arguments.emplace(key, value(0)).second) fail("each key once, not " + key);
      if (take(',')) continue;
      if (!take(close)) fail(std::string(", or ") + close);
      return;
    }
  }

  Literal value(int depth) {
    if (depth > kDeepest) fail("fewer brackets");
    if (take('(')) return tuple(')', depth);
    if (take('[')) return tuple(']', depth);
    if (skip_spaces(); at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      return {quoted()};
    }
    return bare();
  }

  Literal tuple(char close, int depth) {
    std::vector<Literal> members;
    while (!take(close)) {
      members.push_back(value(depth + 1));
      if (take(',')) continue;
      if (!take(close)) fail(std::string(", or ") + close);
      break;
    }
    return {std::move(members)};
  }

  // Without escapes: no setting has any.
  std::string quoted() {
    skip_spaces();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("a quoted text");
    const char quote = text_[at_++];
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\\') ++at_;
    if (at_ == text_.size() || text_[at_] != quote) fail("a closing quote");
    return std::string(text_.substr(begin, at_++ - begin));
  }

  // A number or one of the names of constants.
  Literal bare() {
    const std::string token = run([](unsigned char c) {
      return std::isalnum(c) || c == '_' || c == '.' || c == '+' || c == '-';
    });
    if (token == "True" || token == "true") return {true};
    if (token == "False" || token == "false") return {false};
    if (token == "None" || token == "null") return {};
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (token == "inf" || token == "Infinity") return {kInfinity};
    if (token == "-inf" || token == "-Infinity") return {-kInfinity};
    char* end = nullptr;
    const double number = std::strtod(token.c_str(), &end);
    if (token.empty() || *end != '\0' || !(number - number == 0)) fail("a value");
    return {number};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

LiteralCall parse_literal_call(std::string_view text) { return Reader(text).call(); }

}  // namespace skyfix
