#include "skyfix/report/export.h"

#include <algorithm>
#include <iostream>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/cli/commands.h"
#include "skyfix/report/las.h"
#include "skyfix/report/run_folder.h"
#include "skyfix/report/stream_export.h"
#include "skyfix/report/stream_run.h"

namespace skyfix::cli {
namespace fs = std::filesystem;

namespace {

struct ExportArguments {
  std::string run;
  std::string format;
  std::string out = "-";
  std::string csv_separator = ",";
  bool tum_time_is_index = false;
  bool hloc_base_names = false;
  std::int64_t colmap_points = 200'000;
  std::string colmap_format = "binary";
};

const std::vector<std::string> kFormatsOfLocalize{"csv", "geojson", "tum", "hloc"};
const std::vector<std::string> kFormatsOfReconstruct{"ply", "las", "tum", "colmap", "csv"};

void require_format(const std::string& format, RunKind kind) {
  const bool reconstruct = kind == RunKind::reconstruct;
  const auto& formats = reconstruct ? kFormatsOfReconstruct : kFormatsOfLocalize;
  if (std::find(formats.begin(), formats.end(), format) != formats.end()) return;
  std::string list;
  for (const std::string& name : formats) list += (list.empty() ? "" : ", ") + name;
  throw Error(Reason::bad_option,
              "--format " + format + " does not fit this run, which is one of " +
                  (reconstruct ? "reconstruct (a path and a cloud in arbitrary units)"
                               : "localize (photos on a map)") +
                  "; what fits: " + list);
}

char separator_of(const ExportArguments& arguments) {
  if (arguments.csv_separator.size() != 1) {
    throw Error(Reason::bad_option, "--csv-separator takes one character");
  }
  return arguments.csv_separator.front();
}

std::string exported_localization(const ExportArguments& arguments) {
  const RunContents run = read_run(arguments.run);
  warn_of_run(run.manifest);
  if (arguments.format == "csv") return export_csv(run.records, {separator_of(arguments)});
  if (arguments.format == "geojson") {
    const Json about = run.manifest.value("about", Json::object());
    return export_geojson(run.records, about.value("altitude_datum", "unknown"));
  }
  if (arguments.format == "tum") {
    return export_tum(run.records,
                      arguments.tum_time_is_index ? TumTime::index : TumTime::exposure);
  }
  return export_hloc(run.records, {arguments.hloc_base_names});
}

fs::path cloud_of(const ExportArguments& arguments) {
  const fs::path cloud = fs::path(arguments.run) / "cloud.ply";
  if (fs::exists(cloud)) return cloud;
  throw Error(Reason::bad_option, "the run was made without a cloud", cloud);
}

std::string exported_las(const ExportArguments& arguments, const StreamRunContents& run) {
  std::map<std::int64_t, double> seconds;
  for (const StreamRecord& record : run.records) {
    if (record.time_ns) seconds[record.index] = static_cast<double>(*record.time_ns) / 1e9;
  }
  return export_cloud_las(cloud_of(arguments), seconds);
}

void export_colmap(const ExportArguments& arguments, const StreamRunContents& run) {
  if (is_standard_output(arguments.out)) {
    throw Error(Reason::bad_option, "--format colmap writes several files: give a folder as --out");
  }
  if (arguments.colmap_points < 0) {
    throw Error(Reason::bad_option, "--colmap-points must not be negative; 0 = poses only");
  }
  const fs::path cloud = fs::path(arguments.run) / "cloud.ply";
  std::vector<CloudPoint> points;
  Eigen::Vector3d offset = Eigen::Vector3d::Zero();
  if (arguments.colmap_points > 0 && fs::exists(cloud)) {
    offset = read_cloud(cloud).offset;
    points = thinned_cloud(cloud, arguments.colmap_points);
  }
  write_colmap(stream_colmap(run.records, points, offset), arguments.out,
               arguments.colmap_format == "text" ? ColmapFormat::text : ColmapFormat::binary);
}

void export_reconstruction(const ExportArguments& arguments) {
  const StreamRunContents run = read_stream_run(arguments.run);
  warn_of_run(run.manifest);
  std::string content;
  if (arguments.format == "colmap") return export_colmap(arguments, run);
  if (arguments.format == "ply") content = export_cloud_ply(cloud_of(arguments));
  if (arguments.format == "las") content = exported_las(arguments, run);
  if (arguments.format == "tum") content = export_stream_tum(run.records);
  if (arguments.format == "csv") {
    content = export_stream_csv(run.records, {separator_of(arguments)});
  }
  write_output(arguments.out, content, std::cout);
}

int run_export(const ExportArguments& arguments) {
  const RunKind kind = run_kind(arguments.run);
  require_format(arguments.format, kind);
  if (kind == RunKind::reconstruct) {
    export_reconstruction(arguments);
  } else {
    write_output(arguments.out, exported_localization(arguments), std::cout);
  }
  return kExitOk;
}

}  // namespace

void add_export(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app = root.add_subcommand("export", "Write a run in the formats of other tools");
  auto arguments = std::make_shared<ExportArguments>();
  app->add_option("RUN", arguments->run, "Run folder of localize or reconstruct")->required();
  app->add_option("--format", arguments->format,
                  "Of localize: csv, geojson (needs a georegistered map), tum, hloc. Of "
                  "reconstruct: ply, las, tum, colmap, csv")
      ->required()
      ->check(CLI::IsMember({"csv", "geojson", "tum", "hloc", "ply", "las", "colmap"}));
  app->add_option("--out", arguments->out,
                  "File to write; - = standard output. A folder for colmap")
      ->capture_default_str();
  app->add_option("--csv-separator", arguments->csv_separator, "Comma, semicolon, bar or tab")
      ->capture_default_str();
  app->add_flag("--tum-time-is-index", arguments->tum_time_is_index,
                "Photos have no exposure time here: take the frame number as seconds");
  app->add_flag("--hloc-compatible", arguments->hloc_base_names,
                "Base names only, as benchmark servers want them");
  app->add_option("--colmap-points", arguments->colmap_points,
                  "colmap: the cloud thinned to at most so many points; 0 = poses only")
      ->capture_default_str();
  app->add_option("--colmap-format", arguments->colmap_format, "colmap: binary or text")
      ->check(CLI::IsMember({"binary", "text"}))
      ->capture_default_str();
  commands.push_back({app, [arguments] { return run_export(*arguments); }});
}

}  // namespace skyfix::cli
