// Ids that do not convert to each other: a camera id is not an image id. Ids are labels (not
// contiguous, not sorted); positions in arrays stay plain integers named *_index.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>

namespace skyfix {

template <class Tag, class Value>
struct StrongId {
  using value_type = Value;
  static constexpr Value kNone = std::numeric_limits<Value>::max();  // COLMAP's "none"
  Value value = kNone;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Value v) : value(v) {}
  constexpr bool valid() const { return value != kNone; }
  constexpr auto operator<=>(const StrongId&) const = default;
};

template <class Tag, class Value>
std::ostream& operator<<(std::ostream& out, StrongId<Tag, Value> id) {
  return out << id.value;
}

}  // namespace skyfix

template <class Tag, class Value>
struct std::hash<skyfix::StrongId<Tag, Value>> {
  std::size_t operator()(skyfix::StrongId<Tag, Value> id) const {
    return std::hash<Value>()(id.value);
  }
};
