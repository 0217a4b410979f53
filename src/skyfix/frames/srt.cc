#include "skyfix/frames/srt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/text.h"

namespace skyfix {
namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;

bool is_number_char(char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+'; }
bool is_key_char(char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == '.'; }

// "00:01:02,345" in nanoseconds.
std::optional<std::int64_t> parse_time(std::string_view text) {
  std::array<long long, 4> parts{};
  constexpr char kEnds[] = {':', ':', ',', '\0'};
  text = trim(text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Some write a full stop before the milliseconds.
    const std::size_t end = i == 3   ? text.find_first_not_of("0123456789")
                            : i == 2 ? text.find_first_of(",.")
                                     : text.find(kEnds[i]);
    if (i < 3 && end == std::string_view::npos) return std::nullopt;
    const auto value = parse_integer(text.substr(0, end));
    if (!value || *value < 0 || *value > 999) return std::nullopt;
    parts[i] = *value;
    if (i < 3) text.remove_prefix(end + 1);
  }
  return (((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000 + parts[3]) * kMillisecondNs;
}

// The number that `text` begins with, after blanks.
std::optional<double> leading_number(std::string_view text) {
  text = trim(text);
  std::size_t end = 0;
  while (end < text.size() && is_number_char(text[end])) ++end;
  return parse_double(text.substr(0, end));
}

// The number behind "key:" or "key :"; the key stands by itself.
std::optional<double> value_of(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at > 0 && is_key_char(text[at - 1])) continue;
    const std::string_view rest = trim(text.substr(at + key.size()));
    if (rest.empty() || (rest.front() != ':' && rest.front() != '=')) continue;
    if (const auto value = leading_number(rest.substr(1))) return value;
  }
  return std::nullopt;
}

// "<font size="28">" and the like.
std::string without_tags(std::string_view text) {
  std::string plain;
  bool inside = false;
  for (const char c : text) {
    if (c == '<') inside = true;
    if (!inside) plain += c;
    if (c == '>') inside = false;
  }
  return plain;
}

// "GPS(120.2, 30.1, 15)" or "GPS (..)": the first two numbers.
std::optional<std::array<double, 2>> gps_pair(std::string_view lower) {
  const std::size_t at = lower.find("gps");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = trim(lower.substr(at + 3));
  if (rest.starts_with(":")) rest = trim(rest.substr(1));
  if (!rest.starts_with("(")) return std::nullopt;
  rest.remove_prefix(1);
  const std::size_t comma = rest.find(',');
  if (comma == std::string_view::npos) return std::nullopt;
  const auto first = leading_number(rest);
  const auto second = leading_number(rest.substr(comma + 1));
  if (!first || !second) return std::nullopt;
  return std::array{*first, *second};
}

// "H 28.0m" of the old dialect, where it is the height above the take-off point.
std::optional<double> old_height(std::string_view lower) {
  for (const std::string_view key : {", h ", ",h ", ", h:", "barometer:"}) {
    const std::size_t at = lower.find(key);
    if (at == std::string_view::npos) continue;
    if (const auto value = leading_number(lower.substr(at + key.size()))) return value;
  }
  return std::nullopt;
}

void set_position(PhotoMetadata& metadata, std::optional<double> latitude,
                  std::optional<double> longitude) {
  if (!latitude || !longitude) return;
  if (std::abs(*latitude) > 90 || std::abs(*longitude) > 180) return;
  metadata.latitude_deg = latitude;
  metadata.longitude_deg = longitude;
}

// A subtitle before the order of its GPS pair is known.
struct Cue {
  SrtEntry entry;
  std::optional<std::array<double, 2>> pair;
};

Cue read_cue(std::int64_t start_ns, std::int64_t end_ns, std::string_view text) {
  const std::string lower = to_lower(without_tags(text));
  Cue cue{{start_ns, end_ns, {}}, {}};
  PhotoMetadata& metadata = cue.entry.metadata;
  auto longitude = value_of(lower, "longitude");
  if (!longitude) longitude = value_of(lower, "longtitude");  // so it is spelled by some
  set_position(metadata, value_of(lower, "latitude"), longitude);
  metadata.relative_altitude_m = value_of(lower, "rel_alt");
  metadata.absolute_altitude_m = value_of(lower, "abs_alt");
  metadata.gimbal_yaw_deg = value_of(lower, "gb_yaw");
  metadata.gimbal_pitch_deg = value_of(lower, "gb_pitch");
  metadata.gimbal_roll_deg = value_of(lower, "gb_roll");
  if (!metadata.latitude_deg) {
    cue.pair = gps_pair(lower);
    if (cue.pair && !metadata.relative_altitude_m) {
      metadata.relative_altitude_m = old_height(lower);
    }
  }
  metadata.altitude_m = metadata.absolute_altitude_m;
  return cue;
}

std::vector<Cue> read_cues(std::string_view text) {
  std::vector<Cue> cues;
  std::optional<std::array<std::int64_t, 2>> times;
  std::string body;
  const auto finish = [&] {
    if (times) cues.push_back(read_cue((*times)[0], (*times)[1], body));
    times.reset();
    body.clear();
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t arrow = line.find("-->");
    if (arrow == std::string_view::npos) {
      body.append(line).append("\n");
      continue;
    }
    finish();
    const auto from = parse_time(line.substr(0, arrow));
    const auto to = parse_time(line.substr(arrow + 3));
    if (from && to) times = {*from, std::max(*from, *to)};
  }
  finish();
  return cues;
}

// The flight says which of the two is the longitude, if any of its numbers can be no latitude.
enum class PairOrder { unknown, longitude_first, latitude_first };
PairOrder order_of(const std::vector<Cue>& cues) {
  for (const Cue& cue : cues) {
    if (!cue.pair) continue;
    const auto [first, second] = *cue.pair;
    if (std::abs(first) > 90 && std::abs(first) <= 180) return PairOrder::longitude_first;
    if (std::abs(second) > 90 && std::abs(second) <= 180) return PairOrder::latitude_first;
  }
  return PairOrder::unknown;
}

std::int64_t median_interval(const std::vector<SrtEntry>& entries) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    steps.push_back(entries[i].start_ns - entries[i - 1].start_ns);
  }
  if (steps.empty()) return entries.empty() ? 0 : entries[0].end_ns - entries[0].start_ns;
  std::nth_element(steps.begin(), steps.begin() + std::ssize(steps) / 2, steps.end());
  return steps[steps.size() / 2];
}

bool says_something(const PhotoMetadata& metadata) {
  return metadata.latitude_deg || metadata.relative_altitude_m || metadata.absolute_altitude_m ||
         metadata.gimbal_yaw_deg;
}

}  // namespace

SrtTrack SrtTrack::parse(std::string_view text) {
  SrtTrack track;
  std::vector<Cue> cues = read_cues(text);
  const PairOrder order = order_of(cues);
  bool unknown = false;
  for (Cue& cue : cues) {
    if (cue.pair) {
      const auto [first, second] = *cue.pair;
      unknown |= order == PairOrder::unknown;
      if (order == PairOrder::longitude_first) set_position(cue.entry.metadata, second, first);
      if (order == PairOrder::latitude_first) set_position(cue.entry.metadata, first, second);
    }
    track.entries_.push_back(std::move(cue.entry));
  }
  if (unknown) {
    track.notes_.emplace_back(
        "the SRT file writes positions as GPS(a, b), and nothing in it tells which is the "
        "latitude: they are not used");
  }
  std::stable_sort(track.entries_.begin(), track.entries_.end(),
                   [](const SrtEntry& a, const SrtEntry& b) { return a.start_ns < b.start_ns; });
  track.interval_ns_ = median_interval(track.entries_);
  return track;
}

SrtTrack SrtTrack::read(const std::filesystem::path& file) {
  SrtTrack track = parse(read_file(file));
  const bool useful =
      std::any_of(track.entries_.begin(), track.entries_.end(),
                  [](const SrtEntry& entry) { return says_something(entry.metadata); });
  if (!useful && track.notes_.empty()) {
    throw Error(Reason::unreadable_file, "this is no SRT file with a drone's telemetry", file);
  }
  return track;
}

const PhotoMetadata* SrtTrack::at(std::int64_t time_ns) const {
  const auto after = std::upper_bound(
      entries_.begin(), entries_.end(), time_ns,
      [](std::int64_t time, const SrtEntry& entry) { return time < entry.start_ns; });
  if (after != entries_.begin() && time_ns < std::prev(after)->end_ns) {
    return &std::prev(after)->metadata;
  }
  const SrtEntry* nearest = nullptr;
  std::int64_t distance = interval_ns_ + 1;
  const auto consider = [&](const SrtEntry& entry) {
    const std::int64_t away = std::max(entry.start_ns - time_ns, time_ns - entry.end_ns);
    if (away < distance) {
      distance = away;
      nearest = &entry;
    }
  };
  if (after != entries_.begin()) consider(*std::prev(after));
  if (after != entries_.end()) consider(*after);
  return nearest == nullptr ? nullptr : &nearest->metadata;
}

}  // namespace skyfix
