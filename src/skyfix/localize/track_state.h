// What a run remembers from frame to frame: the last good fixes, from which the next pose is
// expected. Rebuilt from records on resume, so that a resumed run takes the same decisions.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "skyfix/geo/rigid3.h"

namespace skyfix {

struct GoodFix {
  std::int64_t index = 0;  // of the frame in the whole input
  std::string name;
  Rigid3 cam_from_map;
};

class TrackState {
 public:
  // A fix older than this many frames says nothing about where the camera is now.
  static constexpr std::int64_t kMaxAgeFrames = 30;
  // Motion is carried on over at most this many frames.
  static constexpr std::int64_t kMaxMotionFrames = 3;

  void add(GoodFix fix);
  // Where the camera of frame `index` is expected: the last good pose, moved on by the motion
  // between the last two good fixes where these are close in time. nullopt without a recent fix.
  std::optional<Rigid3> expected_pose(std::int64_t index) const;
  // The newest good fixes before `index`, oldest first, at most `count`.
  std::deque<GoodFix> newest(std::size_t count) const;
  void set_capacity(std::size_t count) { capacity_ = std::max<std::size_t>(2, count); }

 private:
  std::size_t capacity_ = 2;
  std::deque<GoodFix> fixes_;
};

}  // namespace skyfix
