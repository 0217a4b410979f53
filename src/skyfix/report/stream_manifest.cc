#include "skyfix/report/stream_manifest.h"

#include <map>

#include "skyfix/report/cloud_file.h"
#include "skyfix/report/json_values.h"

namespace skyfix {
namespace {

Json window_json(const WindowAlignment& window) {
  Json transform = Json::array();
  for (const double value : window.world_from_window) transform.push_back(json_number(value));
  return {{"window", window.window},
          {"first_frame", window.first_frame},
          {"frames", window.frames},
          {"anchor_frame", window.anchor_frame < 0 ? Json(nullptr) : Json(window.anchor_frame)},
          {"scale", json_number(window.scale)},
          {"world_from_window", std::move(transform)},
          {"depth_samples", window.depth_samples},
          {"centre_residual", json_number(window.centre_residual)},
          {"depth_residual", json_number(window.depth_residual)}};
}

}  // namespace

Json stream_run_configuration(const StreamRunSetup& setup) {
  const StreamOutputs& outputs = setup.outputs;
  const CloudOptions& cloud = outputs.cloud_options;
  Json json;
  json["confidence_threshold"] = cloud.confidence_threshold;
  json["cloud"] =
      outputs.cloud
          ? Json({{"every", cloud.every}, {"voxel", cloud.voxel}, {"max_points", cloud.max_points}})
          : Json(nullptr);
  json["depth"] = depth_format_name(outputs.depth);
  json["colmap"] =
      outputs.colmap
          ? Json({{"format", outputs.colmap_format == ColmapFormat::binary ? "binary" : "text"},
                  {"max_points", outputs.colmap_max_points}})
          : Json(nullptr);
  Json configuration = setup.configuration;
  configuration["outputs"] = std::move(json);
  return configuration;
}

void write_stream_counts(const StreamCounts& counts, Json& manifest) {
  Json by_status;
  by_status["frames"] = counts.frames;
  for (const StreamStatus status :
       {StreamStatus::ok, StreamStatus::rejected, StreamStatus::failed, StreamStatus::skipped}) {
    by_status[std::string(stream_status_name(status))] = counts.with(status);
  }
  Json by_reason = Json::object();
  for (const auto& [reason, count] : counts.by_reason) {
    by_reason[std::string(reason_name(reason))] = count;
  }
  manifest["units"] = "arbitrary";
  manifest["counts"] = std::move(by_status);
  manifest["reasons"] = std::move(by_reason);
}

void write_stream_figures(const StreamFigures& figures, Json& manifest) {
  manifest["stream"] = {{"frames", figures.frames},
                        {"kept", figures.kept},
                        {"whole_frames", figures.whole_frames},
                        {"tail_frames", figures.tail_frames},
                        {"camera_tokens", figures.camera_tokens},
                        {"cache_bytes", figures.cache_bytes}};
  std::map<std::int64_t, Json> windows;
  if (const auto noted = manifest.find("windows"); noted != manifest.end() && noted->is_array()) {
    for (const Json& window : *noted) {
      if (window.is_object()) windows[window.value("window", std::int64_t{-1})] = window;
    }
  }
  for (const WindowAlignment& window : figures.windows)
    windows[window.window] = window_json(window);
  Json list = Json::array();
  for (auto& [number, window] : windows) list.push_back(std::move(window));
  manifest["windows"] = std::move(list);
}

Json cloud_json(const CloudWriter& cloud, const CloudOptions& options, const std::string& sky) {
  const CloudHeader& header = cloud.header();
  Json json;
  json["schema"] = "skyfix-cloud-1";
  json["file"] = "cloud.ply";
  json["units"] = "arbitrary";
  json["frame"] = "the first camera's as the network saw it: x right, y down, z forward";
  json["offset"] = json_numbers(header.offset);
  json["points"] = header.points;
  json["voxel"] = header.voxel > 0 ? Json(header.voxel) : Json(nullptr);
  json["voxel_option"] = options.voxel;
  json["confidence_threshold"] = options.confidence_threshold;
  json["every"] = options.every;
  json["max_points"] = options.max_points;
  json["sky"] = sky;
  json["points_by_frame"] = Json::array();
  for (const auto& [frame, points] : cloud.points_by_frame()) {
    json["points_by_frame"].push_back({{"index", frame}, {"points", points}});
  }
  return json;
}

}  // namespace skyfix
