#include "skyfix/report/evaluate.h"

#include <cstdio>
#include <iostream>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/cli/commands.h"
#include "skyfix/report/run_folder.h"
#include "skyfix/report/stream_run.h"
#include "skyfix/report/table.h"
#include "skyfix/report/trajectory_evaluation.h"

namespace skyfix::cli {
namespace fs = std::filesystem;

namespace {

struct EvaluateArguments {
  std::string run;
  std::string reference;
  std::string json;
  std::string align;  // empty: as fits the run
  std::string associate = "auto";
  AssociationOptions association;
};

void report(const EvaluateArguments& arguments, const Json& json, const std::string& table) {
  if (!arguments.json.empty()) write_output(arguments.json, json.dump(2) + "\n", std::cout);
  std::fputs((table + "\n").c_str(), table_stream(arguments.json));
}

bool is_run(const std::string& path) { return RunJournal::exists(path); }

bool is_localization(const std::string& path) {
  return is_run(path) && run_kind(path) == RunKind::localize;
}

void evaluate_localization(const EvaluateArguments& arguments) {
  const Reference reference = read_reference(arguments.reference);
  const RunContents run = read_run(arguments.run);
  warn_of_run(run.manifest);
  const Evaluation evaluation = evaluate(run.records, reference);
  report(arguments, evaluation_json(evaluation, reference, run.manifest),
         evaluation_table(evaluation, reference));
}

// Localized photos have their scale from the map, and aligning would hide their error.
Alignment alignment_of(const EvaluateArguments& arguments, const Trajectory& estimate) {
  if (!arguments.align.empty()) return alignment_from_name(arguments.align);
  return estimate.kind == TrajectoryKind::localization ? Alignment::none : Alignment::sim3;
}

void evaluate_path(EvaluateArguments arguments) {
  arguments.association.by = association_from_name(arguments.associate);
  const Trajectory estimate = read_trajectory(arguments.run);
  const Trajectory reference = read_trajectory(arguments.reference);
  if (estimate.kind == TrajectoryKind::reconstruction) {
    warn_of_run(read_stream_run(arguments.run).manifest);
  }
  const TrajectoryEvaluation evaluation = evaluate_trajectory(
      estimate, reference, alignment_of(arguments, estimate), arguments.association);
  report(arguments, trajectory_evaluation_json(evaluation, estimate, reference),
         trajectory_evaluation_table(evaluation, estimate, reference));
}

int run_evaluate(const EvaluateArguments& arguments) {
  // What is no run and no path is refused as a run that cannot be read.
  const bool run_missing = fs::is_directory(arguments.run) && !is_run(arguments.run);
  const bool reference_is_path =
      fs::is_directory(arguments.reference) || fs::path(arguments.reference).extension() != ".json";
  if (run_missing ||
      (is_localization(arguments.run) && !reference_is_path && arguments.align.empty())) {
    evaluate_localization(arguments);
  } else {
    evaluate_path(arguments);
  }
  return kExitOk;
}

}  // namespace

void add_evaluate(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app = root.add_subcommand(
      "evaluate",
      "Compare poses with known ones: errors and recall of a localization, ATE and RPE "
      "of a reconstruction's path");
  auto arguments = std::make_shared<EvaluateArguments>();
  app->add_option("--run", arguments->run, "Run folder of localize or reconstruct, or a TUM file")
      ->required();
  app->add_option("--reference", arguments->reference,
                  "reference.json (docs/formats.md), a TUM file, or a COLMAP model's folder")
      ->required();
  app->add_option("--json", arguments->json,
                  "Write the figures to this file too; - = standard output, the table then goes to "
                  "standard error");
  app->add_option(
         "--align", arguments->align,
         "Of paths, before they are compared: sim3 (with scale; the default), se3, or none "
         "(the default for localized photos)")
      ->check(CLI::IsMember({"sim3", "se3", "none"}));
  app->add_option("--associate", arguments->associate,
                  "Which poses of two paths belong together: by name, by time, or auto")
      ->check(CLI::IsMember({"auto", "name", "time"}))
      ->capture_default_str();
  app->add_option("--max-time-difference", arguments->association.max_difference_s,
                  "By time: seconds that two poses may be apart")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app->add_option("--time-offset", arguments->association.offset_s,
                  "By time: seconds to add to the reference's times")
      ->capture_default_str();
  commands.push_back({app, [arguments] { return run_evaluate(*arguments); }});
}

}  // namespace skyfix::cli
