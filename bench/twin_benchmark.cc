#include "bench/twin_benchmark.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "bench/line_peer.h"
#include "bench/match_data.h"
#include "bench/stopwatch.h"
#include "bench/twin_stages.h"
#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/npy.h"
#include "skyfix/base/parallel.h"
#include "skyfix/base/version.h"
#include "skyfix/models/lightglue/lightglue.h"
#include "skyfix/models/local_network.h"
#include "skyfix/models/weights.h"

namespace skyfix::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Gone with its files at the end.
struct ExchangeFolder {
  fs::path path = fs::temp_directory_path() / ("skyfix-twin-" + std::to_string(::getpid()));
  ExchangeFolder() { make_folder(path); }
  ~ExchangeFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

class Photo {
 public:
  explicit Photo(const fs::path& file) : pixels_(file) {}
  PictureView view() const {
    const auto& shape = pixels_.shape();
    return {pixels_.as<std::uint8_t>().data(), int(shape.at(1)), int(shape.at(0)),
            int(shape.at(2))};
  }

 private:
  NpyFile pixels_;
};

struct MapPhoto {
  std::vector<float> xy, descriptors;
  int width = 0, height = 0;
  LightGlueSide side() const { return {xy, descriptors, width, height}; }
};

// Each figure of all calls; `ours` and `twin`, and our stages.
struct Samples {
  std::map<std::string, std::vector<double>> wall, cpu;
  std::vector<std::string> order;
  void add(const std::string& what, const Seconds& seconds) {
    if (!wall.contains(what)) order.push_back(what);
    wall[what].push_back(1e3 * seconds.wall);
    cpu[what].push_back(1e3 * seconds.cpu);
  }
};

class TwinRun {
 public:
  TwinRun(const TwinBenchmarkOptions& options, int threads)
      : options_(options),
        twin_({options.python, options.script.string(), "--data", options.data.string(), "--serve",
               folder_.path.string(), "--features", std::to_string(options.features), "--threads",
               std::to_string(threads)}),
        xfeat_weights_(open_weights(known_model("xfeat"), "", options.weights_dir)),
        lighterglue_weights_(open_weights(known_model("lighterglue"), "", options.weights_dir)) {
    set_thread_count(std::size_t(threads));
    xfeat_ = make_xfeat(xfeat_weights_, {});
    lighterglue_ = std::make_unique<LightGlue>(lighterglue_weights_, LightGlueConfig::for_xfeat(),
                                               NetworkPlacement{});
    stages_ = std::make_unique<TwinStages>(xfeat_weights_, lighterglue_weights_);
    about_ = json::parse(twin_.read_line());
    for (std::size_t i = 0; i < about_.at("queries").size(); ++i) {
      queries_.emplace_back(folder_.path / fmt::format("query_{}.npy", i));
    }
    for (std::size_t i = 0; i < about_.at("maps").size(); ++i) maps_.push_back(described(i));
  }

  std::string torch() const { return about_.at("torch").get<std::string>(); }
  std::size_t photos() const { return queries_.size(); }
  std::size_t map_photos() const { return maps_.size(); }

  // All photos and pairs once; who begins alternates.
  void round(bool twin_first, bool counted) {
    for (std::size_t q = 0; q < queries_.size(); ++q) {
      const PictureView picture = queries_[q].view();
      NetworkFeatures found;
      const auto ours = [&] {
        found = xfeat_->detect(*xfeat_->maps(picture), {.max_features = options_.features});
        return found.score.size();
      };
      Pair photo = both("features", fmt::format("features {}", q), ours, twin_first, counted);
      const LightGlueSide side{found.xy, found.descriptors, picture.width, picture.height};
      std::unique_ptr<const LightGlue::Prepared> prepared;
      photo.ours += seconds_of([&] { prepared = lighterglue_->prepare(side); });
      for (std::size_t m = 0; m < maps_.size(); ++m) {
        const auto match = [&] {
          return lighterglue_->match(*prepared, *lighterglue_->prepare(maps_[m].side())).size();
        };
        const Pair pair =
            both("matching", fmt::format("match {} {}", q, m), match, twin_first, counted);
        photo.ours += pair.ours;
        photo.twin += pair.twin;
      }
      if (!counted) continue;
      samples_.add("photo ours", photo.ours);
      samples_.add("photo twin", photo.twin);
      for (const auto& [what, seconds] : stages_->features(picture, options_.features)) {
        samples_.add(what, seconds);
      }
      for (const MapPhoto& map : maps_) {
        for (const auto& [what, seconds] : stages_->matching(side, map.side())) {
          samples_.add(what, seconds);
        }
      }
    }
  }

  void report(std::ostream& out) const {
    const std::pair<std::string, std::string> rows[] = {
        {"features", "features of a photo"},
        {"matching", "a pair matched"},
        {"photo", fmt::format("a photo: features, {} pairs", maps_.size())}};
    for (const auto& [what, title] : rows) {
      const std::string ours = what + " ours", twin = what + " twin";
      const double wall = median(samples_.wall.at(ours)), cpu = median(samples_.cpu.at(ours));
      const double twin_wall = median(samples_.wall.at(twin)),
                   twin_cpu = median(samples_.cpu.at(twin));
      out << fmt::format("{:<44} {:>8.1f} {:>8.1f} {:>6.2f}   {:>8.1f} {:>8.1f} {:>6.2f}\n", title,
                         wall, twin_wall, wall / twin_wall, cpu, twin_cpu, cpu / twin_cpu);
    }
    const auto counted = [&](const char* who, const char* what) {
      return counts_.at(std::string(what) + " " + who);
    };
    out << fmt::format("features found: ours {}, twin {}; matches: ours {}, twin {}\n",
                       counted("ours", "features"), counted("twin", "features"),
                       counted("ours", "matching"), counted("twin", "matching"));
    for (const std::string& what : samples_.order) {
      if (what.ends_with(" ours") || what.ends_with(" twin")) continue;
      out << fmt::format("  {:<42} {:>8.2f} {:>24.2f}\n", what, median(samples_.wall.at(what)),
                         median(samples_.cpu.at(what)));
    }
  }

 private:
  MapPhoto described(std::size_t number) const {
    const Photo photo(folder_.path / fmt::format("map_{}.npy", number));
    const NpyFile places(folder_.path / fmt::format("map_{}_xy.npy", number));
    const auto xy = places.as<float>();
    const PictureView picture = photo.view();
    return {{xy.begin(), xy.end()},
            xfeat_->describe(*xfeat_->maps(picture), xy),
            picture.width,
            picture.height};
  }

  struct Pair {
    Seconds ours, twin;
  };

  template <class Work>
  Pair both(const std::string& what, const std::string& order, const Work& work, bool twin_first,
            bool counted) {
    std::size_t count = 0;
    Seconds ours;
    if (!twin_first) ours = seconds_of([&] { count = work(); });
    const json answer = json::parse(twin_.ask(order));
    if (twin_first) ours = seconds_of([&] { count = work(); });
    const Seconds twin{answer.at("wall_s").get<double>(), answer.at("cpu_s").get<double>()};
    if (!counted) return {};
    samples_.add(what + " ours", ours);
    samples_.add(what + " twin", twin);
    counts_[what + " ours"] += count;
    counts_[what + " twin"] += answer.at("count").get<std::size_t>();
    return {ours, twin};
  }

  const TwinBenchmarkOptions& options_;
  ExchangeFolder folder_;
  LinePeer twin_;
  std::shared_ptr<const TensorSource> xfeat_weights_, lighterglue_weights_;
  std::unique_ptr<LocalNetwork> xfeat_;
  std::unique_ptr<LightGlue> lighterglue_;
  std::unique_ptr<TwinStages> stages_;
  json about_;
  std::vector<Photo> queries_;
  std::vector<MapPhoto> maps_;
  Samples samples_;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace

int run_twin_benchmark(const TwinBenchmarkOptions& options, std::ostream& out) {
  for (const int threads : options.threads) {
    TwinRun run(options, threads);
    run.round(false, /*counted=*/false);
    for (int i = 0; i < options.repeat; ++i) run.round(i % 2 == 1, true);
    out << fmt::format(
        "{}; twin with PyTorch {}; threads {}; {} photos, {} map photos, {} rounds\n",
        version_text(), run.torch(), threads, run.photos(), run.map_photos(), options.repeat);
    out << fmt::format("{:<44} {:>8} {:>8} {:>6}   {:>8} {:>8} {:>6}\n", "medians, ms", "wall",
                       "twin", "ratio", "cpu", "twin", "ratio");
    run.report(out);
    out << std::flush;
  }
  return 0;
}

}  // namespace skyfix::bench
