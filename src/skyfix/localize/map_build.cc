#include "skyfix/localize/map_build.h"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "skyfix/base/error.h"
#include "skyfix/base/log.h"
#include "skyfix/image/image.h"
#include "skyfix/image/metadata.h"
#include "skyfix/map/map_folder.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

// Photos of a model tie 60 to 80 % of its observations; photos turned or exchanged by mistake still
// tie some 10 % by chance. Fewer than this is refused, fewer than that is worth a warning.
constexpr double kLeastTiedShare = 0.15;
constexpr double kUsualTiedShare = 0.35;
constexpr int kSiftDimension = 128;
constexpr double kOriginDisagreementM = 100;  // far beyond any GPS error

// What one photo contributes.
struct PhotoData {
  bool readable = false;
  PhotoMetadata metadata;
  MapWriter::ImageFeatures tied;
  std::size_t tied_observations = 0;
  FeatureSet small;  // features of the picture the global descriptor sees
};

// `extractor` null: no features are wanted.
PhotoData read_photo(const fs::path& file, const Camera& camera, const LocalFeatures* extractor,
                     const LocalFeatures& small_extractor,
                     const std::vector<MapWriter::Observation>& observations,
                     const MapBuildOptions& options) {
  PhotoData data;
  data.metadata = read_metadata(file);
  const Image image = decode_image(file);
  data.readable = true;
  if (extractor == nullptr) return data;
  data.small = small_extractor.extract(shrink_to(image, options.vlad_long_side_px));
  // Observations are in the camera's pixels: a photo of another size cannot carry descriptors.
  if (image.width != camera.width || image.height != camera.height) return data;
  const FeatureSet features = extractor->extract(image);
  std::vector<Eigen::Vector2d> pixels;
  pixels.reserve(observations.size());
  for (const MapWriter::Observation& observation : observations)
    pixels.push_back(observation.pixel);
  std::uint32_t last = std::numeric_limits<std::uint32_t>::max();
  for (const Tie& tie : tie_features(features, pixels, options.tie)) {
    data.tied.observation.push_back(tie.observation);
    const Keypoint& keypoint = features.keypoints[tie.feature];
    data.tied.pixel.insert(data.tied.pixel.end(), {keypoint.x, keypoint.y});
    const float* row = features.descriptor(tie.feature);
    data.tied.descriptor.insert(data.tied.descriptor.end(), row, row + features.dimension);
    if (tie.observation != last) ++data.tied_observations;
    last = tie.observation;
  }
  return data;
}

// A given origin is believed, but said to be doubtful where the photos' own GPS is far away.
void check_origin(const Georegistration& geo, const std::vector<GpsPair>& pairs,
                  std::vector<Finding>& findings) {
  if (pairs.empty()) return;
  const EnuFrame enu(geo.origin);
  std::vector<double> off_m;
  for (const GpsPair& pair : pairs) {
    const Eigen::Vector3d claimed = geo.enu_from_map * pair.centre_in_map;
    off_m.push_back((enu.enu_from_wgs84(pair.position) - claimed).head<2>().norm());
  }
  std::nth_element(off_m.begin(), off_m.begin() + off_m.size() / 2, off_m.end());
  const double median_m = off_m[off_m.size() / 2];
  if (median_m <= kOriginDisagreementM) return;
  findings.push_back({Severity::warning, "origin_disagrees_with_gps",
                      fmt::format("with --enu-origin the photos lie {:.0f} m from their own GPS "
                                  "(median): check sign and order (LAT,LON,H)",
                                  median_m)});
}

Georegistration georegister(const MapBuildOptions& options, const ColmapModel& model,
                            const MapWriter& writer, const std::vector<PhotoData>& photos,
                            std::vector<Finding>& findings) {
  if (!options.enu_origin && options.georegister == MapBuildOptions::Georegister::none) return {};
  std::vector<GpsPair> pairs;
  for (std::size_t i = 0; i < photos.size(); ++i) {
    const ColmapImage& image = model.images[writer.model_image_of()[i]];
    // Without a height a position is no place in space: 0 m would be taken for one.
    if (!photos[i].metadata.altitude_m) continue;
    if (const auto position = photos[i].metadata.position()) {
      pairs.push_back({image.name, image.cam_from_world.centre(), *position});
    }
  }
  if (options.enu_origin) {
    const Georegistration geo = georegistration_at_origin(*options.enu_origin, options.datum);
    check_origin(geo, pairs, findings);
    return geo;
  }
  try {
    return fit_georegistration(pairs, options.datum);
  } catch (const Error& error) {
    if (options.georegister == MapBuildOptions::Georegister::gps) throw;
    findings.push_back({Severity::note, "no_georegistration",
                        "the map stays in arbitrary units: " + error.message() +
                            "; give --enu-origin LAT,LON,H if the model is in metres already"});
    return {};
  }
}

void add_identities(const ColmapModel& model, const std::vector<PhotoData>& photos,
                    MapWriter& writer) {
  std::map<CameraId, std::set<std::pair<std::string, std::string>>> seen;
  for (std::size_t i = 0; i < photos.size(); ++i) {
    const PhotoMetadata& metadata = photos[i].metadata;
    if (!metadata.make && !metadata.model) continue;
    seen[model.images[writer.model_image_of()[i]].camera].emplace(metadata.make.value_or(""),
                                                                  metadata.model.value_or(""));
  }
  for (const auto& [camera, identities] : seen) {
    // A camera shared by photos of several makers has no identity.
    if (identities.size() == 1) {
      writer.set_camera_identity(camera, identities.begin()->first, identities.begin()->second);
    }
  }
}

void add_places(const std::vector<PhotoData>& photos, const MapBuildOptions& options,
                MapWriter& writer) {
  std::vector<float> all;
  int dimension = 0;
  for (const PhotoData& photo : photos) {
    dimension = std::max(dimension, photo.small.dimension);
    all.insert(all.end(), photo.small.descriptors.begin(), photo.small.descriptors.end());
  }
  if (all.empty()) throw Error(Reason::no_features, "the map photos gave no local features");
  const VladVocabulary vocabulary = train_vlad_vocabulary(all, dimension, options.vlad);
  std::vector<float> descriptors;
  for (const PhotoData& photo : photos) {
    FeatureSet features = photo.small;
    features.dimension = dimension;
    const std::vector<float> row =
        vlad_descriptor(vocabulary.centres, vocabulary.clusters, features);
    descriptors.insert(descriptors.end(), row.begin(), row.end());
  }
  writer.add_places("vlad-sift", vocabulary.clusters, dimension, vocabulary.centres,
                    std::move(descriptors));
}

void collect_features(std::vector<PhotoData>& photos, const MapWriter& writer,
                      MapBuildReport& report, std::vector<MapWriter::ImageFeatures>& features) {
  std::vector<std::uint8_t> described(report.points, 0);
  for (std::size_t i = 0; i < photos.size(); ++i) {
    report.tied_observations += photos[i].tied_observations;
    for (const std::uint32_t observation : photos[i].tied.observation) {
      described[writer.observations(i)[observation].point] = 1;
    }
    features.push_back(std::move(photos[i].tied));
  }
  report.points_with_descriptors =
      static_cast<std::size_t>(std::count(described.begin(), described.end(), 1));
}

// SIFT's share of the map; refused where the photos are not the model's.
void add_sift(std::vector<PhotoData>& photos, const MapBuildOptions& options,
              MapBuildReport& report, MapWriter& writer) {
  add_places(photos, options, writer);
  std::vector<MapWriter::ImageFeatures> features;
  collect_features(photos, writer, report, features);
  const double tied_share =
      double(report.tied_observations) / double(std::max<std::size_t>(1, report.observations));
  if (tied_share < kLeastTiedShare) {
    throw Error(
        Reason::camera_mismatch,
        fmt::format("only {:.0f} % of the model's observations lie on a feature of the photos: ",
                    100 * tied_share) +
            "the photos are not those "
            "the model was made from, or were resized or turned",
        options.images);
  }
  if (tied_share < kUsualTiedShare) {
    report.findings.push_back(
        {Severity::warning, "few_tied_observations",
         fmt::format("only {:.0f} % of the model's observations lie on a feature of the photos "
                     "(usual is 60 to 80 %): check that these are the model's photos",
                     100 * tied_share)});
  }
  writer.add_features("sift", kSiftDimension, std::move(features));
}

}  // namespace

void MapBuildOptions::validate() const {
  if (vlad.clusters < 1 || vlad.clusters > 4096) {
    throw Error(Reason::bad_option,
                fmt::format("--vlad-clusters is {}; allowed is 1 to 4096", vlad.clusters));
  }
  if (!(tie.radius_px > 0 && tie.radius_px <= 20)) {
    throw Error(Reason::bad_option,
                fmt::format("--tie-radius is {}; allowed is more than 0 to 20 px", tie.radius_px));
  }
  if (vlad_long_side_px < 64 || vlad_long_side_px > 8192) {
    throw Error(Reason::bad_option,
                fmt::format("--vpr-resize is {}; allowed is 64 to 8192 px", vlad_long_side_px));
  }
  if (enu_origin && !enu_origin->valid()) {
    throw Error(Reason::bad_option,
                "--enu-origin takes LAT,LON,H in degrees and metres, |LAT| <= 90");
  }
}

std::vector<std::optional<PhotoSize>> photo_sizes(const ColmapModel& model,
                                                  const fs::path& images) {
  std::vector<std::optional<PhotoSize>> sizes;
  for (const ColmapImage& image : model.images) {
    try {
      const ImageInfo info = probe_image(images / image.name);
      sizes.push_back(PhotoSize{info.width, info.height});
    } catch (const Error&) {
      sizes.push_back(std::nullopt);
    }
  }
  return sizes;
}

MapBuildReport build_map(const MapBuildOptions& options, Progress& progress) {
  options.validate();
  const fs::path folder = find_colmap_model(options.colmap);
  const ColmapModel model = read_colmap(folder);
  MapBuildReport report;
  report.findings = check_model(model);
  for (Finding& finding : check_photos(model, photo_sizes(model, options.images))) {
    report.findings.push_back(std::move(finding));
  }
  // Georegistration needs the photos, which need the writer's order: the writer is made twice.
  MapWriter order(model, {});
  report.images = order.model_image_of().size();
  const auto extractor = make_local_features("sift", options.map_features);
  const auto small_extractor = make_local_features("sift");
  std::vector<PhotoData> photos(report.images);
  progress.start("reading photos", report.images);
  for (std::size_t i = 0; i < report.images; ++i) {
    const ColmapImage& image = model.images[order.model_image_of()[i]];
    try {
      photos[i] = read_photo(options.images / image.name, model.cameras.at(image.camera),
                             options.sift ? extractor.get() : nullptr, *small_extractor,
                             order.observations(i), options);
    } catch (const Error& error) {
      ++report.missing_photos;
      log::warn("{}: {}", image.name, error.message());
    }
    progress.advance();
  }
  progress.finish();
  if (report.missing_photos == report.images) {
    throw Error(Reason::unreadable_file,
                "none of the model's photos can be read here; the model's names, such as " +
                    model.images.front().name + ", must be relative to --images",
                options.images);
  }
  report.georegistration = georegister(options, model, order, photos, report.findings);

  MapWriter writer(model, report.georegistration);
  report.points = writer.point_count();
  add_identities(model, photos, writer);
  for (std::size_t i = 0; i < report.images; ++i) {
    report.observations += writer.observations(i).size();
  }
  if (options.sift) {
    add_sift(photos, options, report, writer);
    writer.set_note("vlad_long_side_px", options.vlad_long_side_px);
    writer.set_note("local_features", extractor->signature());
  }
  writer.set_note("source", {{"colmap", fs::absolute(folder).string()},
                             {"images", fs::absolute(options.images).string()}});
  writer.write(options.out, options.overwrite);
  return report;
}

}  // namespace skyfix
