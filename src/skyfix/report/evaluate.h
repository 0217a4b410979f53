// A run judged by a reference: errors by frame, figures over the run, and the protocol they were
// made by. Poses are compared as they are, in the map model's frame: nothing is aligned.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skyfix/report/name_matching.h"
#include "skyfix/report/record.h"
#include "skyfix/report/reference.h"
#include "skyfix/report/run_manifest.h"

namespace skyfix {

// Lengths are metres, or per cent of the camera path where the reference is not metric.
struct FrameError {
  double position = 0;    // 3D distance of the centres
  double horizontal = 0;  // in the plane of the frame's x (east) and y (north); metric only
  double vertical = 0;    // absolute, along z (up); metric only
  double rotation_deg = 0;
};

struct EvaluatedFrame {
  std::string name;       // the record's, or the reference's where there is no record
  std::string reference;  // empty: the frame has no reference
  bool recorded = true;
  FixStatus status = FixStatus::failed;  // meaningless when not recorded
  std::optional<Reason> reason;
  std::optional<FrameError> error;  // for ok frames with a reference
};

struct ErrorSummary {
  std::optional<double> rmse;  // nullopt: no frame to take it over
  std::optional<double> median;
  std::optional<double> max;
};

struct RecallLevel {
  double position = 0;  // unit of FrameError
  double rotation_deg = 0;
  std::size_t recalled = 0;  // frames within both
};

struct Evaluation {
  RunCounts counts;  // all records of the run
  bool metric = true;
  std::size_t references = 0;  // reference entries: recall is a share of these
  std::size_t compared = 0;    // ok frames with a reference: errors are over these
  ErrorSummary horizontal, vertical, position;
  ErrorSummary rotation_deg;
  std::vector<RecallLevel> recall;
  std::vector<EvaluatedFrame> frames;  // records in input order, then references without a record
  std::vector<UnmatchedName> records_without_reference;
  std::vector<UnmatchedName> references_without_record;
  std::vector<std::string> warnings;
};

// Recall at (0.25 m, 2 deg), (0.5 m, 5 deg), (5 m, 10 deg); for references that are not metric the
// same numbers in per cent of the path. A reference entry without an ok record is not recalled.
Evaluation evaluate(const std::vector<Record>& records, const Reference& reference);

// The machine's form: figures in metres, or as *_percent with the metric keys null. `manifest` is
// the run's.
Json evaluation_json(const Evaluation& evaluation, const Reference& reference,
                     const Json& manifest);

}  // namespace skyfix
