// Settings written as a constructor call, Name(key='text', other=(1, inf), flag=True), or as a JSON
// object: what MASt3R's two file layouts hold. Read by a tokenizer; nothing is evaluated.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyfix {

struct Literal {
  // None (monostate), True or False, a number (also inf), a text, a tuple or list.
  std::variant<std::monostate, bool, double, std::string, std::vector<Literal>> value;

  bool operator==(const Literal&) const = default;
  const std::string* text() const { return std::get_if<std::string>(&value); }
  const double* number() const { return std::get_if<double>(&value); }
  const bool* flag() const { return std::get_if<bool>(&value); }
  const std::vector<Literal>* tuple() const { return std::get_if<std::vector<Literal>>(&value); }
};

struct LiteralCall {
  std::string name;  // empty for a JSON object
  std::map<std::string, Literal> arguments;
};

// Throws std::invalid_argument that says what was expected at which byte.
LiteralCall parse_literal_call(std::string_view text);

}  // namespace skyfix
