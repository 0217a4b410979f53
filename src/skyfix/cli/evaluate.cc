#include "skyfix/report/evaluate.h"

#include <cstdio>
#include <iostream>

#include "skyfix/base/file.h"
#include "skyfix/cli/commands.h"
#include "skyfix/report/run_folder.h"
#include "skyfix/report/table.h"

namespace skyfix::cli {
namespace {

struct EvaluateArguments {
  std::string run;
  std::string reference;
  std::string json;
};

int run_evaluate(const EvaluateArguments& arguments) {
  const Reference reference = read_reference(arguments.reference);
  const RunContents run = read_run(arguments.run);
  warn_of_run(run.manifest);
  const Evaluation evaluation = evaluate(run.records, reference);
  if (!arguments.json.empty()) {
    write_output(arguments.json,
                 evaluation_json(evaluation, reference, run.manifest).dump(2) + "\n", std::cout);
  }
  std::fputs((evaluation_table(evaluation, reference) + "\n").c_str(),
             table_stream(arguments.json));
  return kExitOk;
}

}  // namespace

void add_evaluate(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "evaluate", "Compare a run's poses with known ones: errors, recall, counts by status");
  auto arguments = std::make_shared<EvaluateArguments>();
  app->add_option("--run", arguments->run, "Run folder")->required();
  app->add_option("--reference", arguments->reference, "reference.json (docs/formats.md)")
      ->required();
  app->add_option("--json", arguments->json,
                  "Write the figures to this file too; - = standard output, the table then goes to "
                  "standard error");
  commands.push_back({app, [arguments] { return run_evaluate(*arguments); }});
}

}  // namespace skyfix::cli
