#include "skyfix/localize/track_state.h"

#include <algorithm>

namespace skyfix {

void TrackState::add(GoodFix fix) {
  fixes_.push_back(std::move(fix));
  while (fixes_.size() > capacity_) fixes_.pop_front();
}

std::optional<Rigid3> TrackState::expected_pose(std::int64_t index) const {
  if (fixes_.empty()) return std::nullopt;
  const GoodFix& last = fixes_.back();
  const std::int64_t ahead = index - last.index;
  if (ahead > kMaxAgeFrames) return std::nullopt;
  if (fixes_.size() < 2) return last.cam_from_map;
  const GoodFix& before = fixes_[fixes_.size() - 2];
  const std::int64_t span = last.index - before.index;
  if (span < 1 || span > kMaxMotionFrames) return last.cam_from_map;
  const Eigen::Vector3d step =
      (last.cam_from_map.centre() - before.cam_from_map.centre()) / static_cast<double>(span);
  const double frames = static_cast<double>(std::min(ahead, kMaxMotionFrames));
  Rigid3 expected = last.cam_from_map;
  expected.translation = -(expected.rotation * (last.cam_from_map.centre() + frames * step));
  return expected;
}

std::deque<GoodFix> TrackState::newest(std::size_t count) const {
  std::deque<GoodFix> newest = fixes_;
  while (newest.size() > count) newest.pop_front();
  return newest;
}

}  // namespace skyfix
