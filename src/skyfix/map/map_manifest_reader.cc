// Reads map.json with every value checked: the file may be damaged or hostile.
#include <algorithm>
#include <cmath>
#include <limits>

#include "skyfix/base/error.h"
#include "skyfix/map/map_manifest.h"

namespace skyfix::map_manifest {
namespace fs = std::filesystem;

using nlohmann::json;

namespace {

// A JSON value with its place in the file, for messages.
class Node {
 public:
  Node(const json& value, std::string place, const fs::path& file)
      : value_(value), place_(std::move(place)), file_(file) {}

  Node at(const std::string& key) const {
    if (!value_.is_object()) fail("is no object");
    const auto found = value_.find(key);
    const std::string place = place_.empty() ? key : place_ + "." + key;
    if (found == value_.end()) Node(value_, place, file_).fail("is missing");
    return {*found, place, file_};
  }

  std::uint64_t count(std::uint64_t largest) const {
    if (!value_.is_number_unsigned() || value_.get<std::uint64_t>() > largest) {
      fail("is no whole number from 0 to " + std::to_string(largest));
    }
    return value_.get<std::uint64_t>();
  }
  int size() const { return static_cast<int>(count(std::numeric_limits<int>::max())); }

  double number() const {
    if (!value_.is_number()) fail("is no number");
    return value_.get<double>();
  }

  std::vector<double> numbers(std::size_t least, std::size_t most) const {
    if (!value_.is_array() || value_.size() < least || value_.size() > most) {
      fail("is no list of the right length");
    }
    std::vector<double> list;
    for (const json& element : value_) list.push_back(Node(element, place_, file_).number());
    return list;
  }

  std::string text() const {
    if (!value_.is_string()) fail("is no text");
    return value_.get<std::string>();
  }

  // Calls with (key, node) for the members of an object, or ("0", node) ... of a list.
  template <class Visit>
  void each(const Visit& visit) const {
    if (!value_.is_structured()) fail("is no object or list");
    for (const auto& [key, element] : value_.items()) {
      visit(key, Node(element, place_ + "." + key, file_));
    }
  }

  const json& value() const { return value_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Reason::bad_map, "map.json: '" + place_ + "' " + what + ". Build the map again",
                file_);
  }

 private:
  const json& value_;
  std::string place_;
  const fs::path& file_;
};

// Turns another room's refusal of a value into one of the map.
template <class Make>
auto made(const Node& node, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    node.fail("cannot be used: " + error.message());
  }
}

MapCamera camera_from(const Node& node) {
  MapCamera entry;
  entry.id = CameraId(
      static_cast<std::uint32_t>(node.at("id").count(std::numeric_limits<std::uint32_t>::max())));
  const std::string name = node.at("model").text();
  entry.camera.model = made(node.at("model"), [&] { return camera_model_from_name(name); });
  entry.camera.width = node.at("width").size();
  entry.camera.height = node.at("height").size();
  const std::size_t count = camera_model_parameter_count(entry.camera.model);
  entry.camera.params = node.at("params").numbers(count, count);
  made(node, [&] {
    entry.camera.validate();
    return 0;
  });
  entry.make = node.at("exif_make").text();
  entry.model = node.at("exif_model").text();
  return entry;
}

std::vector<MapCamera> cameras_from(const Node& node) {
  std::vector<MapCamera> cameras;
  node.each([&](const std::string&, const Node& entry) { cameras.push_back(camera_from(entry)); });
  const auto not_ascending = std::adjacent_find(
      cameras.begin(), cameras.end(), [](const auto& a, const auto& b) { return a.id >= b.id; });
  if (not_ascending != cameras.end()) node.fail("is not sorted by id");
  return cameras;
}

Georegistration::Kind kind_from(const Node& node) {
  const std::string word = node.text();
  if (word == "none") return Georegistration::Kind::none;
  if (word == "given_origin") return Georegistration::Kind::given_origin;
  if (word == "gps_fit") return Georegistration::Kind::gps_fit;
  node.fail("is not known");
}

Similarity3 similarity_from(const Node& node) {
  const std::vector<double> q = node.at("q_wxyz").numbers(4, 4);
  const std::vector<double> t = node.at("t").numbers(3, 3);
  Similarity3 similarity;
  similarity.scale = node.at("scale").number();
  similarity.rotation = Eigen::Quaterniond(q[0], q[1], q[2], q[3]);
  similarity.translation = {t[0], t[1], t[2]};
  if (!(similarity.scale > 0) || !std::isfinite(similarity.scale) ||
      !(std::abs(similarity.rotation.norm() - 1) < 1e-6) || !similarity.translation.allFinite()) {
    node.fail("is no similarity");
  }
  return similarity;
}

Georegistration georegistration_from(const Node& node) {
  Georegistration known;
  known.kind = kind_from(node.at("kind"));
  if (!known.known()) return known;
  known.enu_from_map = similarity_from(node.at("enu_from_map"));
  const Node origin = node.at("origin");
  known.origin = {origin.at("latitude_deg").number(), origin.at("longitude_deg").number(),
                  origin.at("height_m").number()};
  if (!known.origin.valid()) origin.fail("is no place on the earth");
  const std::string datum = node.at("datum").text();
  known.datum = made(node.at("datum"), [&] { return altitude_datum_from_name(datum); });
  if (known.kind != Georegistration::Kind::gps_fit) return known;
  known.photos_used = node.at("photos_used").size();
  known.photos_rejected = node.at("photos_rejected").size();
  known.rms_horizontal_m = node.at("rms_horizontal_m").number();
  known.rms_vertical_m = node.at("rms_vertical_m").number();
  known.max_residual_m = node.at("max_residual_m").number();
  return known;
}

void kinds_from(const Node& root, Manifest& manifest) {
  root.at("features").each([&](const std::string& kind, const Node& node) {
    if (!is_kind_name(kind)) node.fail("is no name of a kind");
    manifest.features[kind] = {node.at("dimension").size()};
  });
  root.at("places").each([&](const std::string& kind, const Node& node) {
    if (!is_kind_name(kind)) node.fail("is no name of a kind");
    manifest.places[kind] = {node.at("clusters").size(), node.at("local_dimension").size(),
                             node.at("vocabulary_hash").text()};
  });
}

}  // namespace

json parse_json(std::string_view text, const fs::path& file) {
  json object;
  try {
    object = json::parse(text);
  } catch (const json::exception& error) {
    throw Error(Reason::bad_map,
                std::string("map.json is damaged: ") + error.what() + ". Build the map again",
                file);
  }
  const Node root(object, "", file);
  if (root.at("format").text() != kFormat) root.at("format").fail("is not of a Skyfix map");
  const std::uint64_t map_version = root.at("version").count(1'000'000);
  if (map_version != kMapVersion) {
    throw Error(Reason::map_version,
                "the map has version " + std::to_string(map_version) +
                    ", this program reads version " + std::to_string(kMapVersion) +
                    ". Build the map again with this program",
                file);
  }
  return object;
}

Manifest from_json(const json& object, const fs::path& file) {
  const Node root(object, "", file);
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 40;
  Manifest manifest;
  manifest.images = root.at("counts").at("images").count(kMostRows);
  manifest.points = root.at("counts").at("points").count(std::numeric_limits<std::uint32_t>::max());
  manifest.observations = root.at("counts").at("observations").count(kMostRows);
  manifest.cameras = cameras_from(root.at("cameras"));
  manifest.georegistration = georegistration_from(root.at("georegistration"));
  kinds_from(root, manifest);
  root.at("tables").each([&](const std::string& path, const Node& node) {
    manifest.tables[path] = {node.at("bytes").count(std::numeric_limits<std::uint64_t>::max()),
                             node.at("sha256").text()};
  });
  manifest.notes = root.at("notes").value();
  return manifest;
}

void require_content_hash(const Manifest& manifest, const json& object, const fs::path& file) {
  const Node node = Node(object, "", file).at("content_hash");
  if (content_hash(manifest) != node.text()) {
    node.fail("does not fit the tables, cameras and georegistration");
  }
}

}  // namespace skyfix::map_manifest
