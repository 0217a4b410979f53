// XMP through exempi: DJI's drone tags (drone-dji) and the camera angles of Pix4D's Camera space.
#include <exempi/xmp.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <string_view>

#include "skyfix/base/text.h"
#include "skyfix/image/metadata_parts.h"

namespace skyfix {
namespace {

// Properties of one name space by their lower-case name.
using Properties = std::map<std::string, std::string>;
struct Packet {
  bool readable = false;
  Properties dji;
  Properties camera;
};

// Elements inside elements; a packet of a photo has some six levels. The toolkit's parser recurses.
constexpr int kMaxDepth = 64;

// A packet that was cut off; the toolkit would complain about it on standard error.
bool cut_off(std::string_view packet) {
  const std::size_t end = packet.rfind("RDF>");
  return end == std::string_view::npos || packet.rfind("</", end) == std::string_view::npos;
}

bool too_deep(std::string_view packet) {
  int depth = 0;
  for (std::size_t at = packet.find('<'); at != std::string_view::npos && at + 1 < packet.size();
       at = packet.find('<', at + 1)) {
    const char next = packet[at + 1];
    if (next == '/') {
      --depth;
    } else if (next != '?' && next != '!') {
      ++depth;
      const std::size_t end = packet.find('>', at);
      if (end != std::string_view::npos && packet[end - 1] == '/') --depth;
    }
    if (depth > kMaxDepth) return true;
  }
  return false;
}

void collect_properties(XmpPtr xmp, Packet& packet) {
  const std::unique_ptr<_XmpIterator, bool (*)(XmpIteratorPtr)> iterator(
      xmp_iterator_new(xmp, nullptr, nullptr, XMP_ITER_JUSTLEAFNODES), xmp_iterator_free);
  if (iterator == nullptr) return;
  using String = std::unique_ptr<_XmpString, void (*)(XmpStringPtr)>;
  const String space(xmp_string_new(), xmp_string_free);
  const String path(xmp_string_new(), xmp_string_free);
  const String value(xmp_string_new(), xmp_string_free);
  while (xmp_iterator_next(iterator.get(), space.get(), path.get(), value.get(), nullptr)) {
    const std::string_view uri = xmp_string_cstr(space.get());
    const std::string_view name = xmp_string_cstr(path.get());
    const std::string key = to_lower(name.substr(name.find(':') + 1));
    // Makers write the spaces' addresses with and without "www", version and slash.
    if (uri.find("dji.com/drone-dji") != std::string_view::npos) {
      packet.dji.emplace(key, xmp_string_cstr(value.get()));
    } else if (uri.find("pix4d.com/camera") != std::string_view::npos) {
      packet.camera.emplace(key, xmp_string_cstr(value.get()));
    }
  }
}

// The toolkit keeps global tables of name spaces: one packet at a time (some 50 us each).
Packet parse(const std::string& text) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static const bool ready = xmp_init();
  Packet packet;
  if (!ready || cut_off(text) || too_deep(text)) return packet;
  const std::unique_ptr<_Xmp, bool (*)(XmpPtr)> xmp(xmp_new(text.data(), text.size()), xmp_free);
  packet.readable = xmp != nullptr;
  if (packet.readable) collect_properties(xmp.get(), packet);
  return packet;
}

class Fields {
 public:
  Fields(const Properties& properties, PhotoMetadata& metadata)
      : properties_(properties), metadata_(metadata) {}

  // The first of the names that is there. What is not a finite number is absent, with a note.
  std::optional<double> number(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      const auto found = properties_.find(name);
      if (found == properties_.end() || trim(found->second).empty()) continue;
      const auto value = parse_double(trim(found->second));
      if (value && std::isfinite(*value)) return value;
      metadata_.notes.push_back(std::string("XMP ") + name + " is not a number: \"" +
                                printable(found->second).substr(0, 40) + "\"");
    }
    return std::nullopt;
  }
  std::optional<int> whole(const char* name) const {
    const auto value = number({name});
    if (!value || std::abs(*value) > 1e9) return std::nullopt;
    return static_cast<int>(*value);
  }

 private:
  const Properties& properties_;
  PhotoMetadata& metadata_;
};

void read_dji(const Fields& dji, PhotoMetadata& metadata) {
  metadata.gimbal_yaw_deg = dji.number({"gimbalyawdegree"});
  metadata.gimbal_pitch_deg = dji.number({"gimbalpitchdegree"});
  metadata.gimbal_roll_deg = dji.number({"gimbalrolldegree"});
  metadata.flight_yaw_deg = dji.number({"flightyawdegree"});
  metadata.relative_altitude_m = dji.number({"relativealtitude"});
  metadata.absolute_altitude_m = dji.number({"absolutealtitude"});
  metadata.calibrated_focal_px = dji.number({"calibratedfocallength"});
  metadata.dewarp_flag = dji.whole("dewarpflag");
  metadata.rtk_flag = dji.whole("rtkflag");
  metadata.rtk_std_lon_m = dji.number({"rtkstdlon"});
  metadata.rtk_std_lat_m = dji.number({"rtkstdlat"});
  metadata.rtk_std_hgt_m = dji.number({"rtkstdhgt"});
}

// Pix4D's angles turn a camera that looks straight down with the image's top to the north, DJI's
// one that looks level to the north: a quarter turn about the image's x axis apart.
void read_camera_angles(const Fields& camera, PhotoMetadata& metadata) {
  if (metadata.gimbal_yaw_deg || metadata.gimbal_pitch_deg || metadata.gimbal_roll_deg) return;
  const auto yaw = camera.number({"yaw"});
  const auto pitch = camera.number({"pitch"});
  const auto roll = camera.number({"roll"});
  if (!yaw || !pitch || !roll) return;
  const Eigen::AngleAxisd quarter(std::numbers::pi / 2, Eigen::Vector3d::UnitX());
  const GimbalAngles angles =
      gimbal_from_cam_from_enu(quarter * cam_from_enu(GimbalAngles{*yaw, *pitch, *roll}));
  metadata.gimbal_yaw_deg = angles.yaw_deg;
  metadata.gimbal_pitch_deg = angles.pitch_deg;
  metadata.gimbal_roll_deg = angles.roll_deg;
  metadata.notes.push_back("gimbal angles from the Camera name space (pitch 0 = nadir)");
}

XmpPosition read_position(const Fields& dji, PhotoMetadata& metadata) {
  XmpPosition position{dji.number({"latitude", "gpslatitude"}),
                       // (DJI's own spelling in several models.)
                       dji.number({"longitude", "gpslongitude", "gpslongtitude"})};
  const bool complete = position.latitude_deg && position.longitude_deg;
  if (!complete || (*position.latitude_deg == 0 && *position.longitude_deg == 0)) return {};
  if (std::abs(*position.latitude_deg) <= 90 && std::abs(*position.longitude_deg) <= 180) {
    return position;
  }
  metadata.notes.push_back("the position in XMP is out of range: not used");
  return {};
}

}  // namespace

XmpPosition read_xmp(const std::string& packet, PhotoMetadata& metadata) {
  const Packet parsed = parse(packet);
  if (!parsed.readable) {
    metadata.notes.push_back("the XMP packet is damaged: not used");
    return {};
  }
  const Fields dji(parsed.dji, metadata);
  read_dji(dji, metadata);
  read_camera_angles(Fields(parsed.camera, metadata), metadata);
  return read_position(dji, metadata);
}

}  // namespace skyfix
