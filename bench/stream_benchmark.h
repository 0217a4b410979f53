// `skyfix bench stream`: how long a frame of a stream takes, by stage, and whose its memory is; and
// `skyfix bench memory stream`: time and memory against the length of the stream. Random weights
// unless some are given, made-up pictures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/memory/budgeted_device.h"
#include "skyfix/models/gct/gct.h"
#include "skyfix/nn/resample.h"
#include "skyfix/stream/session.h"

namespace skyfix::bench {

struct StreamBenchmarkOptions {
  std::string device = "cuda";
  std::string precision = "bf16";
  std::string heads = "fp32";
  std::string weights = "synthetic";  // or synthetic:tiny
  int width = 518;                    // of the network's pictures, px
  int height = 378;
  int frames = 100;  // measured
  int warm_up = 8;   // frames before these, besides the scale frames
  int prefill = 0;   // kept frames that the stream begins with, made of random keys
  int profile = 20;  // frames of the profile by stage, after the others; 0 = none
  StreamOptions stream;
  int camera_iterations = 4;
  std::optional<std::uint64_t> gpu_bytes = {};
  std::filesystem::path json;
  std::filesystem::path goldens;  // folder with full_stream.safetensors to compare with

  // Of the sweep.
  std::vector<std::int64_t> frame_counts;
  bool stop_on_oom = false;
  std::filesystem::path csv;
};

// Network and device; the device outlives the network.
struct StreamBench {
  BudgetedDevice device;
  std::shared_ptr<const Gct> network;
  std::string heading;
  void synchronize() const;
};
StreamBench open_stream_bench(const StreamBenchmarkOptions& options);

// Distinct made-up pictures, taken in turn.
std::vector<BytePicture> stream_pictures(int width, int height, int count);

struct StreamTimes {
  std::vector<double> frame_ms;  // of the measured frames, from picture to prediction on the host
  double scale_phase_ms = 0;     // of all scale frames together; 0 where the stream was filled
  StreamFigures stream;
};
StreamTimes time_stream(StreamBench& bench, const StreamBenchmarkOptions& options);

struct StageTime {
  std::string stage;
  double ms = 0;  // a frame, median; the device is waited for after each stage
};
std::vector<StageTime> profile_stream(StreamBench& bench, const StreamBenchmarkOptions& options);

// Largest deviation of the official network's stream from the stored one, by output.
struct StreamDeviation {
  std::string what;
  double absolute = 0;
  double relative = 0;
};
std::vector<StreamDeviation> compare_stream(StreamBench& bench,
                                            const StreamBenchmarkOptions& options);

// Exit status. Throw Error(bad_option), Error(no_gpu).
int run_stream_benchmark(const StreamBenchmarkOptions& options, std::ostream& out);
int run_stream_sweep(const StreamBenchmarkOptions& options, std::ostream& out,
                     std::ostream& standard_output);

}  // namespace skyfix::bench
