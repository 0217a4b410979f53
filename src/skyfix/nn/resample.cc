#include "skyfix/nn/resample.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "skyfix/base/parallel.h"

namespace skyfix {
namespace {

constexpr int kWeightBits = 22;

// What one output sample reads.
struct Taps {
  int first = 0;
  int count = 0;
  std::size_t weights = 0;  // index of the first
};

struct Pass {
  std::vector<Taps> taps;  // one per output sample
  std::vector<std::int32_t> weights;
};

double sinc(double x) {
  if (x == 0) return 1;
  return std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

double kernel(ResampleFilter filter, double x) {
  x = std::abs(x);
  if (filter == ResampleFilter::lanczos) return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? -0.5 * (((x - 5) * x + 8) * x - 4) : 0;
}

Pass make_pass(int in, int out, ResampleFilter filter) {
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0);
  const double support = (filter == ResampleFilter::lanczos ? 3 : 2) * stretch;
  Pass pass;
  std::vector<double> weights;
  for (int i = 0; i < out; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(std::trunc(centre - support + 0.5)));
    const int end = std::min(in, static_cast<int>(std::trunc(centre + support + 0.5)));
    weights.clear();
    double sum = 0;
    for (int j = first; j < end; ++j) {
      weights.push_back(kernel(filter, (j - centre + 0.5) / stretch));
      sum += weights.back();
    }
    pass.taps.push_back({first, end - first, pass.weights.size()});
    for (const double weight : weights) {
      // lround: half away from zero.
      pass.weights.push_back(
          static_cast<std::int32_t>(std::lround(weight / sum * (1 << kWeightBits))));
    }
  }
  return pass;
}

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

template <int kChannels>
void resample_row(const Pass& pass, const std::uint8_t* in, std::uint8_t* out) {
  for (const Taps& taps : pass.taps) {
    std::int32_t sums[kChannels];
    std::fill_n(sums, kChannels, kHalf);
    const std::uint8_t* sample = in + std::size_t{kChannels} * taps.first;
    const std::int32_t* weight = pass.weights.data() + taps.weights;
    for (int j = 0; j < taps.count; ++j, sample += kChannels) {
      for (int c = 0; c < kChannels; ++c) sums[c] += weight[j] * sample[c];
    }
    for (int c = 0; c < kChannels; ++c) *out++ = to_byte(sums[c]);
  }
}

BytePicture resample_columns_of_rows(const PictureView& picture, int width, const Pass& pass) {
  BytePicture result{{}, width, picture.height, picture.channels};
  const std::size_t in_stride = std::size_t(picture.width) * picture.channels;
  const std::size_t out_stride = std::size_t(width) * picture.channels;
  result.pixels.resize(out_stride * picture.height);
  parallel_for(picture.height, 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::uint8_t* in = picture.pixels + row * in_stride;
      std::uint8_t* out = result.pixels.data() + row * out_stride;
      picture.channels == 3 ? resample_row<3>(pass, in, out) : resample_row<1>(pass, in, out);
    }
  });
  return result;
}

BytePicture resample_rows(const PictureView& picture, int height, const Pass& pass) {
  BytePicture result{{}, picture.width, height, picture.channels};
  const std::size_t stride = std::size_t(picture.width) * picture.channels;
  result.pixels.resize(stride * height);
  parallel_for(height, 16, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> sums(stride);
    for (std::size_t row = begin; row < end; ++row) {
      const Taps& taps = pass.taps[row];
      std::fill(sums.begin(), sums.end(), kHalf);
      for (int j = 0; j < taps.count; ++j) {
        const std::int32_t weight = pass.weights[taps.weights + j];
        const std::uint8_t* in = picture.pixels + (taps.first + j) * stride;
        for (std::size_t i = 0; i < stride; ++i) sums[i] += weight * in[i];
      }
      std::transform(sums.begin(), sums.end(), result.pixels.begin() + row * stride, to_byte);
    }
  });
  return result;
}

}  // namespace

BytePicture resample(const PictureView& picture, int width, int height, ResampleFilter filter) {
  assert(picture.width > 0 && picture.height > 0 && width > 0 && height > 0);
  assert(picture.channels == 1 || picture.channels == 3);
  if (picture.width == width && picture.height == height) {
    return crop(picture, 0, 0, width, height);
  }
  BytePicture between;
  PictureView source = picture;
  if (picture.width != width) {
    between = resample_columns_of_rows(picture, width, make_pass(picture.width, width, filter));
    if (picture.height == height) return between;
    source = between.view();
  }
  return resample_rows(source, height, make_pass(picture.height, height, filter));
}

BytePicture crop(const PictureView& picture, int left, int top, int width, int height) {
  assert(left >= 0 && top >= 0 && left + width <= picture.width && top + height <= picture.height);
  BytePicture result{{}, width, height, picture.channels};
  const std::size_t row_bytes = std::size_t(width) * picture.channels;
  result.pixels.resize(row_bytes * height);
  for (int row = 0; row < height; ++row) {
    const std::size_t from = (std::size_t(top + row) * picture.width + left) * picture.channels;
    std::copy_n(picture.pixels + from, row_bytes, result.pixels.begin() + row * row_bytes);
  }
  return result;
}

}  // namespace skyfix
