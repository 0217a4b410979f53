// What the run folders of all jobs stand on: run.json (the manifest), and records.jsonl, whose
// lock makes sure that one process writes. records.jsonl is the truth of a run; a last line that
// was cut is dropped.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/report/record_file.h"
#include "skyfix/report/run_manifest.h"

namespace skyfix {

// cancelled: by the user; stopped: by a failure.
enum class RunState { running, finished, cancelled, stopped };
std::string_view run_state_name(RunState state);

class RunJournal {
 public:
  struct Identity {
    std::string_view schema;  // of the manifest
    Json configuration;       // complete: a run is resumed only with an equal one
    Json about;
  };

  static bool exists(const std::filesystem::path& folder);
  // A new run: checks that the folder is new, empty, or holds what a killed write left; writes the
  // manifest, with the keys of `figures` behind its own. Throws Error(unwritable_output).
  static RunJournal create(const std::filesystem::path& folder, const Identity& identity,
                           const Json& figures);
  // The run in `folder`. Nothing is changed until keep_lines() and write(). Throws
  // Error(run_mismatch) naming every differing setting with both values, Error(bad_run),
  // Error(unwritable_output).
  static RunJournal open(const std::filesystem::path& folder, const Identity& identity);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path records_path() const;
  Json& manifest() { return manifest_; }

  // The whole lines that are in records.jsonl.
  std::vector<std::string> read_lines() const;
  // Cuts records.jsonl behind these, its first lines, and removes what killed writes left.
  void keep_lines(const std::vector<std::string>& lines);
  // Notes in the manifest that the run goes on. Written by the next write().
  void note_resumed();

  // Appends a line (without its end). On failure the file is as before. Throws
  // Error(unwritable_output).
  void append(std::string_view line) { file_->append(line); }
  // Writes the manifest.
  void write(RunState state);
  // Settles the records on the disk and writes the manifest with end time and reason.
  void finish(RunState state, const std::string& because);

 private:
  RunJournal(std::filesystem::path folder, Json manifest);
  std::filesystem::path folder_;
  Json manifest_;
  std::unique_ptr<RecordFile> file_;
};

// What `parse(line, where)` makes of the lines, the last one left out (of `lines` too) when it is
// no record: power was lost while it was written. Throws what `parse` throws for any other line.
template <class Parse>
auto parse_journal_lines(std::vector<std::string>& lines, const Parse& parse) {
  std::vector<decltype(parse(lines.front(), std::string()))> records;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      records.push_back(parse(lines[i], "line " + std::to_string(i + 1)));
    } catch (const Error&) {
      if (i + 1 < lines.size()) throw;
      lines.pop_back();
    }
  }
  return records;
}

// run.json of any job, and records.jsonl's whole lines; nothing is changed. Throws
// Error(unreadable_file | bad_run).
struct JournalContents {
  Json manifest;
  std::vector<std::string> lines;
  std::filesystem::path records_file;
};
JournalContents read_journal(const std::filesystem::path& folder, std::string_view schema);

}  // namespace skyfix
