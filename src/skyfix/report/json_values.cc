#include "skyfix/report/json_values.h"

#include <cmath>
#include <limits>

#include "skyfix/report/utf8.h"

namespace skyfix {

Json json_number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_number(const std::optional<double>& value) {
  return value ? json_number(*value) : Json(nullptr);
}

Json json_text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(utf8_text(text));
}

Json json_numbers_by_name(const std::map<std::string, double>& values) {
  Json json = Json::object();
  for (const auto& [name, value] : values) json[utf8_text(name)] = json_number(value);
  return json;
}

Eigen::Vector4d canonical_wxyz(const Eigen::Quaterniond& q) {
  Eigen::Vector4d wxyz(q.w(), q.x(), q.y(), q.z());
  for (const double component : wxyz) {
    if (component == 0) continue;
    if (component < 0) wxyz = -wxyz;
    break;
  }
  wxyz.array() += 0.0;  // -0 becomes 0
  return wxyz;
}

Json json_pose(const Rigid3& pose) {
  return {{"q_wxyz", json_numbers(canonical_wxyz(pose.rotation))},
          {"t", json_numbers(pose.translation)}};
}

Json json_camera(const Camera& camera) {
  Json params = Json::array();
  for (const double value : camera.params) params.push_back(json_number(value));
  return {{"model", camera_model_name(camera.model)},
          {"width", camera.width},
          {"height", camera.height},
          {"params", std::move(params)}};
}

int read_count(const JsonFields& fields, const std::string& key) {
  return static_cast<int>(fields.integer(key, 0, std::numeric_limits<int>::max()));
}

std::optional<double> read_optional_number(const JsonFields& fields, const std::string& key) {
  if (!fields.has(key)) return std::nullopt;
  return fields.number(key);
}

std::string read_optional_text(const JsonFields& fields, const std::string& key) {
  return fields.has(key) ? fields.text(key) : std::string();
}

std::map<std::string, double> read_numbers_by_name(const JsonFields& fields) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : fields.value().items()) {
    if (!value.is_null()) numbers[name] = fields.number(name);
  }
  return numbers;
}

std::vector<std::string> read_warnings(const JsonFields& fields) {
  std::vector<std::string> texts;
  if (!fields.has("warnings")) return texts;
  const Json& warnings = fields.at("warnings");
  if (!warnings.is_array()) fields.fail("warnings", "must be a list of texts");
  for (const Json& warning : warnings) {
    if (!warning.is_string()) fields.fail("warnings", "must be a list of texts");
    texts.push_back(warning.get<std::string>());
  }
  return texts;
}

Rigid3 read_json_pose(const JsonFields& fields) {
  const std::vector<double> q = fields.numbers("q_wxyz", 4);
  Rigid3 pose;
  pose.rotation = Eigen::Quaterniond(q[0], q[1], q[2], q[3]);
  if (!(std::abs(pose.rotation.norm() - 1) <= 1e-3)) {
    fields.fail("q_wxyz", "is not a unit quaternion");
  }
  pose.translation = fields.vector3("t");
  return pose;
}

Camera read_json_camera(const JsonFields& fields) {
  Camera camera;
  camera.model = camera_model_from_name(fields.text("model"));
  camera.width = read_count(fields, "width");
  camera.height = read_count(fields, "height");
  camera.params = fields.numbers("params", camera_model_parameter_count(camera.model));
  camera.validate();
  return camera;
}

}  // namespace skyfix
