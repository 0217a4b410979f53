// Values that records of all jobs write and read alike: numbers that are never NaN, names, poses,
// cameras. The readers throw as JsonFields does.
#pragma once

#include <Eigen/Core>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/geo/camera.h"
#include "skyfix/geo/rigid3.h"
#include "skyfix/report/json_fields.h"

namespace skyfix {

// null where not finite or absent.
Json json_number(double value);
Json json_number(const std::optional<double>& value);
Json json_text_or_null(const std::string& text);
template <class Derived>
Json json_numbers(const Eigen::DenseBase<Derived>& values) {  // row-major
  Json list = Json::array();
  for (Eigen::Index row = 0; row < values.rows(); ++row) {
    for (Eigen::Index col = 0; col < values.cols(); ++col) {
      list.push_back(json_number(values(row, col)));
    }
  }
  return list;
}
Json json_numbers_by_name(const std::map<std::string, double>& values);

// w x y z of the same rotation; the first of them that is not zero is positive, none is -0.
Eigen::Vector4d canonical_wxyz(const Eigen::Quaterniond& q);
Json json_pose(const Rigid3& pose);  // {q_wxyz, t}
Json json_camera(const Camera& camera);

inline constexpr std::array kAllReasons{
#define SKYFIX_REASON(number, name, meaning) Reason::name,
#include "skyfix/base/reasons.def"
#undef SKYFIX_REASON
};

// The value whose name stands in the field.
template <class Values, class NameOf>
auto read_named(const JsonFields& fields, const std::string& key, const Values& values,
                NameOf name_of) {
  const std::string name = fields.text(key);
  for (const auto value : values) {
    if (name_of(value) == name) return value;
  }
  fields.fail(key, "has the unknown value \"" + name + "\"");
}

int read_count(const JsonFields& fields, const std::string& key);
std::optional<double> read_optional_number(const JsonFields& fields, const std::string& key);
std::string read_optional_text(const JsonFields& fields, const std::string& key);
std::map<std::string, double> read_numbers_by_name(const JsonFields& fields);
std::vector<std::string> read_warnings(const JsonFields& fields);
Rigid3 read_json_pose(const JsonFields& fields);
Camera read_json_camera(const JsonFields& fields);  // throws Error(bad_camera ...) too

}  // namespace skyfix
