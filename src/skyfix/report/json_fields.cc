#include "skyfix/report/json_fields.h"

#include <cmath>

namespace skyfix {
namespace {

constexpr int kMaxDepth = 64;

// Printing and copying JSON recurse, so the depth is bounded before anything is built.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Json parse_json(std::string_view text, const JsonSource& source, const std::string& where) {
  if (too_deep(text)) {
    throw Error(source.reason, where + ": the JSON is nested too deeply", source.file);
  }
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::exception& problem) {
    throw Error(source.reason, where + ": this is not JSON: " + problem.what(), source.file);
  }
}

JsonFields::JsonFields(const Json& object, JsonSource source, std::string where)
    : object_(object), source_(std::move(source)), where_(std::move(where)) {
  if (!object_.is_object()) {
    throw Error(source_.reason, where_ + " must be a JSON object", source_.file);
  }
}

void JsonFields::fail(const std::string& key, const std::string& problem) const {
  throw Error(source_.reason, where_ + ": \"" + key + "\" " + problem, source_.file);
}

bool JsonFields::has(const std::string& key) const {
  const auto field = object_.find(key);
  return field != object_.end() && !field->is_null();
}

const Json& JsonFields::at(const std::string& key) const {
  const auto field = object_.find(key);
  if (field == object_.end()) fail(key, "is missing");
  return *field;
}

JsonFields JsonFields::object(const std::string& key) const {
  return JsonFields(at(key), source_, where_ + "." + key);
}

std::string JsonFields::text(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_string()) fail(key, "must be a text");
  return value.get<std::string>();
}

bool JsonFields::boolean(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_boolean()) fail(key, "must be true or false");
  return value.get<bool>();
}

double JsonFields::number(const std::string& key) const {
  const Json& value = at(key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    fail(key, "must be a finite number");
  }
  return value.get<double>();
}

std::int64_t JsonFields::integer(const std::string& key, std::int64_t low,
                                 std::int64_t high) const {
  const Json& value = at(key);
  if (!value.is_number_integer()) fail(key, "must be an integer");
  const bool beyond =
      value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t(INT64_MAX);
  if (beyond || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
    fail(key, "must be between " + std::to_string(low) + " and " + std::to_string(high));
  }
  return value.get<std::int64_t>();
}

std::vector<double> JsonFields::numbers(const std::string& key, std::size_t count) const {
  const Json& value = at(key);
  const std::string wanted = "must be a list of " + std::to_string(count) + " finite numbers";
  if (!value.is_array() || value.size() != count) fail(key, wanted);
  std::vector<double> result;
  for (const Json& element : value) {
    if (!element.is_number() || !std::isfinite(element.get<double>())) fail(key, wanted);
    result.push_back(element.get<double>());
  }
  return result;
}

Eigen::Vector3d JsonFields::vector3(const std::string& key) const {
  const std::vector<double> values = numbers(key, 3);
  return {values[0], values[1], values[2]};
}

}  // namespace skyfix
