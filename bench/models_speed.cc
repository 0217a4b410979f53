// Times of the networks, eager and as graphs.
#include <algorithm>
#include <chrono>

#include "bench/match_data.h"
#include "bench/models_benchmark.h"
#include "bench/models_scene.h"

namespace skyfix::bench {
namespace {

constexpr int kWarmUps = 4;  // the second records
using Clock = std::chrono::steady_clock;
double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::vector<double> times_of(const ModelsBench& bench, const std::function<void()>& run,
                             int repeat) {
  std::vector<double> times;
  for (int i = 0; i < kWarmUps + repeat; ++i) {
    bench.synchronize();
    const auto start = Clock::now();
    run();
    bench.synchronize();
    if (i >= kWarmUps) times.push_back(milliseconds_since(start));
  }
  return times;
}

void use_graphs(const ModelsBench& bench, bool wanted) {
  bench.mast3r->use_graphs(wanted);
  bench.dinov3->use_graphs(wanted);
}

}  // namespace

std::vector<ModelTime> time_models(ModelsBench& bench, const ModelsBenchmarkOptions& options) {
  const ModelsScene scene(bench, options);
  const BytePicture query = scene.photo(1), other = scene.photo(2);
  const auto feature = scene.encoded(query.view());
  std::vector<Mast3rPair> pairs(options.references);
  scene.decoded(*feature, options.references,
                [&](std::size_t i, const Mast3rPair& pair) { pairs[i] = pair; });
  const auto nothing = [](std::size_t, const Mast3rPair&) {};
  const auto match = [&](std::size_t, const Mast3rPair& pair) { scene.matched(pair); };
  const std::string each = std::to_string(options.references);
  const std::vector<std::pair<std::string, std::function<void()>>> works{
      {"DINOv3-L patches", [&] { scene.described(query.view()); }},
      {"DINOv3-L patches + VLAD", [&] { scene.placed(query.view()); }},
      {"MASt3R encoder", [&] { scene.encoded(query.view()); }},
      {"MASt3R pair, all heads", [&] { scene.pair_all_heads(query.view(), other.view()); }},
      {"MASt3R decoder + descriptors x 1", [&] { scene.decoded(*feature, 1, nothing); }},
      {"MASt3R query x " + each + " cached",
       [&] { scene.decoded(*scene.encoded(query.view()), options.references, nothing); }},
      {"matching x " + each,
       [&] {
         for (const Mast3rPair& pair : pairs) scene.matched(pair);
       }},
      {"frame: DINOv3 + VLAD + MASt3R x " + each + " + matching",
       [&] {
         scene.placed(query.view());
         scene.decoded(*scene.encoded(query.view()), options.references, match);
       }},
  };
  std::vector<ModelTime> times;
  for (const auto& [what, run] : works) {
    use_graphs(bench, false);
    const std::vector<double> eager = times_of(bench, run, options.repeat);
    use_graphs(bench, true);
    const std::vector<double> graphs = times_of(bench, run, options.repeat);
    times.push_back(
        {what, median(eager), median(graphs), *std::min_element(graphs.begin(), graphs.end())});
  }
  return times;
}

}  // namespace skyfix::bench
