#include <cstdio>

#include "skyfix/base/log.h"
#include "skyfix/cli/commands.h"
#include "skyfix/report/run_folder.h"
#include "skyfix/report/stream_run.h"

namespace skyfix::cli {
namespace {

void print_records(const std::string& run, bool canonical) {
  const bool reconstructed = run_kind(run) == RunKind::reconstruct;
  if (canonical) {
    std::fputs((reconstructed ? canonical_stream_records(run) : canonical_records(run)).c_str(),
               stdout);
    return;
  }
  const auto lines = reconstructed ? read_stream_run(run).lines : read_run(run).lines;
  for (const std::string& line : lines) std::puts(line.c_str());
}

}  // namespace

void warn_of_run(const Json& manifest) {
  const bool reconstructed = manifest.value("schema", "") == kStreamRunSchema;
  if (manifest.value("state", "") != "finished") {
    log::warn("this run is not finished (state: {}); go on with it by {} --resume",
              manifest.value("state", "unknown"), reconstructed ? "reconstruct" : "localize");
  }
  if (manifest.value("about", Json::object()).value("units", "") == "arbitrary") {
    log::warn("the {} in arbitrary units: lengths are not metres",
              reconstructed ? "reconstruction is" : "run's map is");
  }
}

void add_records(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app = root.add_subcommand("records", "Print a run's records, one JSON object a line");
  auto run = std::make_shared<std::string>();
  auto canonical = std::make_shared<bool>(false);
  app->add_option("RUN", *run, "Run folder")->required();
  app->add_flag("--canonical", *canonical,
                "Without what may differ between equal runs (telemetry)");
  commands.push_back({app, [run, canonical] {
                        print_records(*run, *canonical);
                        return kExitOk;
                      }});
}

}  // namespace skyfix::cli
