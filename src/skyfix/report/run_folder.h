// The folder of a run: run.json (what it was made with, how it ended), records.jsonl (one line a
// frame, in input order, written as frames finish), frames/NAME.json (the same records one by one).
//
// Safe against being killed at any moment: records.jsonl is the truth; a cut last line is dropped
// on resuming and its frame done again; frame files are written whole and made good from the truth.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "skyfix/localize/runner.h"
#include "skyfix/report/record.h"
#include "skyfix/report/run_journal.h"
#include "skyfix/report/run_manifest.h"

namespace skyfix {

struct RunInput {
  std::string name;
  std::int64_t index = 0;  // as Fix::index
};

struct RunSetup {
  // Everything that results depend on: options, seeds, map and camera hashes, program version. A
  // run is resumed only with an equal one. The inputs' names are added to it.
  Json configuration = Json::object();
  // What is worth knowing but does not change results: host, threads, command line, datum
  // statement.
  Json about = Json::object();
  std::vector<RunInput> inputs;  // what the run will record, in this order
  // False where they are not known before (videos, live): then records are only required to come
  // with rising indices.
  bool inputs_known = true;
  RecordHost host;
  Json memory_limits =
      Json::object();  // device, budget_mib, cap_mib; begins the manifest's `memory`
};

class RunFolder {
 public:
  // A new run; `folder` may exist when it is empty. Throws Error(unwritable_output): it holds a run
  // already (resume it or take another), it holds other files, another process writes there.
  static RunFolder create(const std::filesystem::path& folder, const RunSetup& setup);
  // Goes on with the run in `folder`, or begins it where there is none. Throws Error(run_mismatch)
  // naming every differing setting with both values; Error(bad_run) for a damaged run (a line that
  // is not a record, records out of order); Error(unwritable_output) as create().
  static RunFolder resume(const std::filesystem::path& folder, const RunSetup& setup);

  RunFolder(RunFolder&&) noexcept;
  RunFolder& operator=(RunFolder&&) noexcept;
  ~RunFolder();  // leaves the run resumable

  // What was there when the run was opened: the first inputs, in order.
  const std::vector<Record>& recorded() const;
  // Records that were dropped on opening, because the first of them had ended for want of memory.
  std::size_t taken_again() const;
  // The same as the batch runner takes them.
  std::vector<RecordedFix> recorded_fixes() const;

  // Writes the next record. Throws Error(internal) when it is not that of the next input;
  // Error(unwritable_output), leaving no part of a line behind.
  void append(const Record& record);

  const RunCounts& counts() const;
  // Settles everything on the disk and writes counts, memory and end time; `because` says why a run
  // was stopped. Throws Error(unwritable_output).
  void finish(RunState state, const std::string& because = {});

 private:
  struct Data;
  explicit RunFolder(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// A run as it lies on the disk, finished or not; nothing is changed. A cut last line is left out.
struct RunContents {
  Json manifest;
  std::vector<std::string> lines;  // records.jsonl
  std::vector<Record> records;
};
// Throws Error(unreadable_file | bad_run).
RunContents read_run(const std::filesystem::path& folder);

// The canonical lines (see canonical_record_line) of a run, each with its line end: equal bytes for
// equal runs, whether or not they were cut and resumed. Throws as read_run.
std::string canonical_records(const std::filesystem::path& folder);

}  // namespace skyfix
