// Reading JSON that somebody else may have written: every access checks type and range, and says
// where in which file it failed.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/base/error.h"

namespace skyfix {

using Json = nlohmann::ordered_json;

// Where a JSON text came from, and the reason to throw when it is not usable.
struct JsonSource {
  Reason reason = Reason::bad_run;
  std::filesystem::path file;
};

// Parses one JSON value. Throws Error(source.reason) for anything that is not JSON or is nested
// deeper than 64 levels.
Json parse_json(std::string_view text, const JsonSource& source, const std::string& where);

// A JSON object seen field by field. Holds a reference: the object must outlive it. All accessors
// throw Error(source.reason) with the field's place when it is absent or of another type.
class JsonFields {
 public:
  JsonFields(const Json& object, JsonSource source, std::string where);

  // Present and not null.
  bool has(const std::string& key) const;
  const Json& at(const std::string& key) const;
  JsonFields object(const std::string& key) const;
  std::string text(const std::string& key) const;
  bool boolean(const std::string& key) const;
  double number(const std::string& key) const;  // finite
  std::int64_t integer(const std::string& key, std::int64_t low, std::int64_t high) const;
  // `count` finite numbers.
  std::vector<double> numbers(const std::string& key, std::size_t count) const;
  Eigen::Vector3d vector3(const std::string& key) const;

  const Json& value() const { return object_; }
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;

 private:
  const Json& object_;
  JsonSource source_;
  std::string where_;
};

}  // namespace skyfix
