// Rows copied into the layout that the kernels read (kernel.h), unusable rows left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "skyfix/match/kernel.h"
#include "skyfix/match/mutual_nearest.h"

namespace skyfix::match {

// Elements at an address that suits the kernels, not initialised.
template <class T>
class AlignedArray {
 public:
  explicit AlignedArray(std::size_t count)
      : data_(static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kAlignment}))) {}
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    void operator()(T* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<T, Free> data_;
};

// True when no entry is NaN or infinite.
bool all_finite(const float* row, int dimension);

// One query panel, filled again and again.
class QueryPanelBuffer {
 public:
  QueryPanelBuffer(const Kernel& kernel, int dimension);
  // Takes the usable ones of these rows (at most panel_rows; indices rise); returns how many. The
  // panel is valid only if there is one.
  int fill(DescriptorView rows, std::span<const std::int32_t> indices);
  // Slot of the panel -> its place in the indices given to fill.
  int place(int slot) const { return place_[slot]; }
  QueryPanel panel() const { return {values_.data(), origin_}; }

  static std::size_t value_count(const Kernel& kernel, int dimension);

 private:
  const Kernel& kernel_;
  int dimension_;
  AlignedArray<float> values_;
  std::int32_t origin_[kMaxPanelRows] = {};
  int place_[kMaxPanelRows] = {};
};

// As many map rows as the cache holds, transposed.
class MapBlock {
 public:
  MapBlock(const Kernel& kernel, std::int64_t map_rows, int dimension);
  // Takes the rows from `first` on; all cores. Returns the row after the last one taken.
  std::int64_t fill(DescriptorView map, std::int64_t first);
  MapPanels panels() const {
    return {values_.data(), filled_.data(), static_cast<std::int32_t>(used_panels_), dimension_};
  }
  // Map row of a slot; a spare slot names the row whose copy it is.
  std::int32_t origin(std::int64_t slot) const { return origin_[slot]; }
  std::int64_t capacity() const { return capacity_; }  // slots of the largest block
  std::int64_t slots() const { return used_panels_ * kernel_.panel_columns; }
  // Calls visit(slot) for each slot with a row of its own.
  template <class Visit>
  void for_each_slot(Visit visit) const {
    for (std::int64_t panel = 0; panel < used_panels_; ++panel) {
      for (std::int32_t i = 0; i < filled_[panel]; ++i) visit(panel * kernel_.panel_columns + i);
    }
  }

  static std::int64_t slot_capacity(const Kernel& kernel, std::int64_t map_rows, int dimension);
  static std::size_t bytes(const Kernel& kernel, std::int64_t map_rows, int dimension);

 private:
  void fill_panel(DescriptorView map, std::int64_t first, std::int64_t panel);

  const Kernel& kernel_;
  int dimension_;
  std::int64_t capacity_;  // slots
  std::int64_t used_panels_ = 0;
  AlignedArray<float> values_;
  AlignedArray<std::int32_t> filled_;
  AlignedArray<std::int32_t> origin_;
};

}  // namespace skyfix::match
