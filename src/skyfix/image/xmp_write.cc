// XMP packets with DJI's drone tags, for simulated photos and tests.
#include <charconv>
#include <string_view>

#include "skyfix/image/metadata.h"
#include "skyfix/image/photo_blocks.h"

namespace skyfix {
namespace {

// DJI writes signs on all its numbers; digits as many as bring the value back exactly.
std::string signed_number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed);
  if (end.ec != std::errc()) return {};  // hundreds of digits: not an angle or a height
  const std::string digits(text, end.ptr);
  return digits.starts_with('-') ? digits : '+' + digits;
}

void add_property(std::string& to, std::string_view name, const std::string& value) {
  to.append("\n    drone-dji:").append(name).append("=\"").append(value).append("\"");
}

}  // namespace

std::string make_xmp_segment(const PhotoMetadata& metadata) {
  std::string properties;
  const auto number = [&](std::string_view name, const std::optional<double>& value) {
    if (value) add_property(properties, name, signed_number(*value));
  };
  const auto flag = [&](std::string_view name, const std::optional<int>& value) {
    if (value) add_property(properties, name, std::to_string(*value));
  };
  number("AbsoluteAltitude", metadata.absolute_altitude_m);
  number("RelativeAltitude", metadata.relative_altitude_m);
  number("GimbalRollDegree", metadata.gimbal_roll_deg);
  number("GimbalYawDegree", metadata.gimbal_yaw_deg);
  number("GimbalPitchDegree", metadata.gimbal_pitch_deg);
  number("FlightYawDegree", metadata.flight_yaw_deg);
  number("CalibratedFocalLength", metadata.calibrated_focal_px);
  flag("DewarpFlag", metadata.dewarp_flag);
  flag("RtkFlag", metadata.rtk_flag);
  number("RtkStdLon", metadata.rtk_std_lon_m);
  number("RtkStdLat", metadata.rtk_std_lat_m);
  number("RtkStdHgt", metadata.rtk_std_hgt_m);
  return std::string(kXmpHead) +
         "<?xpacket begin=\"\xEF\xBB\xBF\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n"
         "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n"
         " <rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n"
         "  <rdf:Description rdf:about=\"\"\n"
         "    xmlns:drone-dji=\"http://www.dji.com/drone-dji/1.0/\"" +
         properties + "/>\n </rdf:RDF>\n</x:xmpmeta>\n<?xpacket end=\"w\"?>";
}

}  // namespace skyfix
