// Seeded randomness of the procedural scene: a stream of numbers for placing things, and
// band-limited noise for what the ground looks like. Both are pure functions of their seeds, so a
// scene has the same bytes whatever the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace skyfix::sim {

// A 64-bit avalanche: every input bit reaches every output bit.
inline std::uint64_t scramble(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 29;
  x *= 0xa0761d6478bd642fULL;
  x ^= x >> 32;
  return x;
}

// The same in 32 bits, for noise lattices: evaluated hundreds of millions of times.
inline std::uint32_t scramble32(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x9e3779b1U;
  x ^= x >> 15;
  x *= 0x85ebca77U;
  x ^= x >> 15;
  return x;
}

// A counter-based stream. The standard library's distributions are not the same everywhere.
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0)
      : state_(scramble(seed + 0x9e3779b97f4a7c15ULL) ^ scramble(~stream)) {}
  std::uint64_t bits() { return scramble(state_ += 0x9e3779b97f4a7c15ULL); }
  // In [0, 1).
  double uniform() { return double(bits() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  std::size_t below(std::size_t count) { return std::size_t(uniform() * double(count)); }
  // Standard normal (Box and Muller 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * 3.14159265358979323846 * uniform());
  }

 private:
  std::uint64_t state_;
};

// A position on the ground in metres; floats are good to 0.03 mm over the scene.
struct Spot {
  float x = 0;
  float y = 0;
};

inline float smooth_step(float low, float high, float x) {
  const float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}

// In [0, 1), constant on each lattice node.
inline float lattice(int ix, int iy, std::uint32_t salt) {
  const std::uint32_t h = scramble32(std::uint32_t(ix) * 0x8da6b343U +
                                     std::uint32_t(iy) * 0xd8163841U + salt * 0xcb1ab31fU);
  return float(h >> 8) * 0x1p-24f;
}

// Smooth noise in [-1, 1] whose blobs are about one unit apart.
inline float value_noise(float x, float y, std::uint32_t salt) {
  const float fx = std::floor(x);
  const float fy = std::floor(y);
  const int ix = int(fx);
  const int iy = int(fy);
  const float u = x - fx;
  const float v = y - fy;
  const float su = u * u * (3 - 2 * u);
  const float sv = v * v * (3 - 2 * v);
  const float a = lattice(ix, iy, salt);
  const float b = lattice(ix + 1, iy, salt);
  const float c = lattice(ix, iy + 1, salt);
  const float d = lattice(ix + 1, iy + 1, salt);
  const float top = a + su * (b - a);
  const float bottom = c + su * (d - c);
  return 2 * (top + sv * (bottom - top)) - 1;
}

// How much of a pattern with this wavelength a pixel of this footprint can show: none below two
// pixels (it would alias), all above four.
inline float visible_share(float wavelength_m, float footprint_m) {
  return std::clamp((wavelength_m / footprint_m - 2) * 0.5f, 0.0f, 1.0f);
}

struct Fractal {
  float wavelength_m;  // of the first octave; each further one is 2.1 times finer
  int octaves;
  float persistence;  // amplitude of each octave over the one before
  std::uint32_t salt;
};

// Octaves of noise, turned against each other so that no lattice shows, up to what the footprint
// can resolve. The first octave has amplitude one.
inline float fractal(Spot p, const Fractal& f, float footprint_m) {
  float sum = 0;
  float amplitude = 1;
  float wavelength = f.wavelength_m;
  for (int octave = 0; octave < f.octaves; ++octave) {
    const float share = visible_share(wavelength, footprint_m);
    if (share <= 0) break;
    const float scale = 1 / wavelength;
    sum +=
        share * amplitude * value_noise(p.x * scale, p.y * scale, f.salt + std::uint32_t(octave));
    p = {0.8f * p.x - 0.6f * p.y, 0.6f * p.x + 0.8f * p.y};
    amplitude *= f.persistence;
    wavelength *= 1 / 2.1f;
  }
  return sum;
}

}  // namespace skyfix::sim
