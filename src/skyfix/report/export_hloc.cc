#include <spdlog/fmt/fmt.h>

#include <set>

#include "skyfix/report/export.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

// Columns are parted by blanks, so a name holds none; '%' is encoded to keep names apart.
std::string one_word(const std::string& name) {
  std::string word;
  for (const char c : utf8_text(name)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte > 0x20 && byte != 0x7F && c != '%';
    word += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return word;
}

}  // namespace

std::string export_hloc(const std::vector<Record>& records, const HlocOptions& options) {
  std::string failed;
  std::string text;
  std::set<std::string> written;
  for (const Record& record : records) {
    const Fix& fix = record.fix;
    const std::string name =
        one_word(options.base_names ? fix.name.substr(fix.name.rfind('/') + 1) : fix.name);
    if (!fix.pose) {
      failed += " " + name;
      continue;
    }
    if (!written.insert(name).second) {
      throw Error(Reason::bad_option,
                  "several frames are called " + name + ": write full names instead");
    }
    const double sign = fix.pose->cam_from_world.rotation.w() < 0 ? -1 : 1;
    const Eigen::Quaterniond& q = fix.pose->cam_from_world.rotation;
    const Eigen::Vector3d& t = fix.pose->cam_from_world.translation;
    text += fmt::format("{} {} {} {} {} {} {} {}\n", name, sign * q.w(), sign * q.x(), sign * q.y(),
                        sign * q.z(), t.x(), t.y(), t.z());
  }
  return failed.empty() ? text : "# failed:" + failed + "\n" + text;
}

}  // namespace skyfix
