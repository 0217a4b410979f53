#include <cstdio>

#include "skyfix/base/log.h"
#include "skyfix/cli/commands.h"
#include "skyfix/report/run_folder.h"

namespace skyfix::cli {

void warn_of_run(const Json& manifest) {
  if (manifest.value("state", "") != "finished") {
    log::warn("this run is not finished (state: {}); go on with it by localize --resume",
              manifest.value("state", "unknown"));
  }
  if (manifest.value("about", Json::object()).value("units", "") == "arbitrary") {
    log::warn("the run's map is in arbitrary units: lengths are not metres");
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
                        if (*canonical) {
                          std::fputs(canonical_records(*run).c_str(), stdout);
                        } else {
                          for (const std::string& line : read_run(*run).lines)
                            std::puts(line.c_str());
                        }
                        return kExitOk;
                      }});
}

}  // namespace skyfix::cli
