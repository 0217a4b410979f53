#include "skyfix/report/export.h"

#include <iostream>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/cli/commands.h"
#include "skyfix/report/run_folder.h"

namespace skyfix::cli {
namespace {

struct ExportArguments {
  std::string run;
  std::string format;
  std::string out = "-";
  std::string csv_separator = ",";
  bool tum_time_is_index = false;
  bool hloc_base_names = false;
};

std::string exported(const ExportArguments& arguments) {
  const RunContents run = read_run(arguments.run);
  warn_of_run(run.manifest);
  if (arguments.format == "csv") {
    if (arguments.csv_separator.size() != 1) {
      throw Error(Reason::bad_option, "--csv-separator takes one character");
    }
    return export_csv(run.records, {arguments.csv_separator.front()});
  }
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

int run_export(const ExportArguments& arguments) {
  const std::string content = exported(arguments);
  write_output(arguments.out, content, std::cout);
  return kExitOk;
}

}  // namespace

void add_export(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("export", "Write a run's fixes in the formats of other tools");
  auto arguments = std::make_shared<ExportArguments>();
  app->add_option("RUN", arguments->run, "Run folder")->required();
  app->add_option("--format", arguments->format,
                  "csv, geojson (needs a georegistered map), tum, or hloc")
      ->required()
      ->check(CLI::IsMember({"csv", "geojson", "tum", "hloc"}));
  app->add_option("--out", arguments->out, "File to write; - = standard output")
      ->capture_default_str();
  app->add_option("--csv-separator", arguments->csv_separator, "Comma, semicolon, bar or tab")
      ->capture_default_str();
  app->add_flag("--tum-time-is-index", arguments->tum_time_is_index,
                "Photos have no exposure time here: take the frame number as seconds");
  app->add_flag("--hloc-compatible", arguments->hloc_base_names,
                "Base names only, as benchmark servers want them");
  commands.push_back({app, [arguments] { return run_export(*arguments); }});
}

}  // namespace skyfix::cli
