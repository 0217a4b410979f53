// `skyfix bench models`: MASt3R and DINOv3 with synthetic weights on one device: how long they take
// kernel by kernel (the peer) and as recorded graphs, what memory their owners hold, how far their
// numbers are from the stored ones, and a run of photos under a memory budget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skyfix/match/match_kernels.h"
#include "skyfix/memory/ledger.h"
#include "skyfix/models/dinov3/dinov3.h"
#include "skyfix/models/mast3r/mast3r.h"
#include "skyfix/nn/resample.h"

namespace skyfix::bench {

struct ModelsBenchmarkOptions {
  std::string device = "cuda";  // cuda or cpu
  std::string precision = "bf16";
  std::string heads;            // of MASt3R's heads; empty = the same
  std::uint64_t gpu_bytes = 0;  // 0 = all there is
  int repeat = 20;              // timed calls each; 0 = no times
  int long_side_px = 512;       // photos are 4:3 of it
  int references = 5;
  int places = 1024;  // described of each
  int frames = 0;     // of the run of photos
  std::optional<std::uint64_t> cached_features;
  std::filesystem::path goldens;  // folder with mast3r/ and dinov3/; empty = not compared
  std::filesystem::path json;     // the figures as JSON too
};

// The device, and the networks on it.
struct ModelsBench {
  std::string heading;
  std::unique_ptr<Device> device;  // null on the CPU
  std::unique_ptr<MatchKernels> kernels;
  std::unique_ptr<Ledger> ledger;
  std::shared_ptr<const Mast3r> mast3r;
  std::shared_ptr<const DinoV3> dinov3;
  void synchronize() const;
};

// A made-up photo: smooth, and different for each seed.
BytePicture made_photo(int width, int height, std::uint64_t seed);
// [n, 2], spread over the photo.
std::vector<float> made_places(int width, int height, int count, std::uint64_t seed);

struct ModelTime {
  std::string what;
  double eager_ms = 0;
  double graphs_ms = 0;
  double graphs_least_ms = 0;
};
// Medians of single calls from an idle to an idle device.
std::vector<ModelTime> time_models(ModelsBench& bench, const ModelsBenchmarkOptions& options);

struct Deviation {
  std::string what;
  double largest = 0;        // absolute; of confidences and points relative
  double least_cosine = 1;   // of rows
  double equal_matches = 1;  // share of the stored pairs' mutual neighbours that are found
};
std::vector<Deviation> compare_with_goldens(const Mast3r& mast3r, const DinoV3& dinov3,
                                            const std::filesystem::path& folder);

struct ModelsWalk {
  int frames = 0;
  int lost = 0;
  int retries = 0;
  std::string given_up;
  std::int64_t pairs = 0;
  double median_ms = 0;
  std::uint64_t reserved_at_half = 0;  // largest within the first half
  std::uint64_t reserved_at_end = 0;   // largest within the second
  CacheFigures cache;
  LedgerFigures figures;
};
// Each frame: a new photo, described by DINOv3, against five references of which three are new.
ModelsWalk walk_models(ModelsBench& bench, const ModelsBenchmarkOptions& options);

// The exit status is 1 when frames were lost. Throws Error(bad_option), Error(no_gpu).
int run_models_benchmark(const ModelsBenchmarkOptions& options, std::ostream& out);

}  // namespace skyfix::bench
