#include "skyfix/report/run_journal.h"

#include <algorithm>
#include <cctype>

#include "skyfix/base/file.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

constexpr const char* kManifestFile = "run.json";
constexpr const char* kRecordsFile = "records.jsonl";
constexpr std::size_t kShownDifferences = 8;

// What an atomic write leaves when the process dies in it: NAME.partial-PID-NUMBER.
bool is_leftover(const fs::path& file) {
  const std::string name = file.filename().string();
  const std::size_t mark = name.rfind(".partial-");
  if (mark == std::string::npos || mark + 9 == name.size()) return false;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(mark) + 9, name.end(), [](char c) {
    return c == '-' || std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (is_leftover(entry.path())) leftovers.push_back(entry.path());
  }
  for (const fs::path& file : leftovers) fs::remove(file, ignored);
}

void require_no_foreign_files(const fs::path& folder) {
  std::error_code failure;
  if (RunJournal::exists(folder)) {
    throw Error(Reason::unwritable_output,
                "the folder holds a run already: go on with it by --resume, or give another --out",
                folder);
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failure)) {
    if (is_leftover(entry.path())) continue;
    throw Error(Reason::unwritable_output,
                "the folder holds something that is not a run (" +
                    utf8_text(entry.path().filename().string()) +
                    "): give an empty or a new folder as --out",
                folder);
  }
  if (failure) {
    throw Error(Reason::unwritable_output, "cannot list the folder: " + failure.message(), folder);
  }
}

void require_same_configuration(const Json& manifest, const Json& configuration,
                                const fs::path& folder) {
  const std::vector<std::string> differences =
      configuration_differences(manifest["configuration"], configuration);
  if (differences.empty()) return;
  std::string message = "the run was made with other settings:";
  for (std::size_t i = 0; i < std::min(differences.size(), kShownDifferences); ++i) {
    message += "\n  " + differences[i];
  }
  if (differences.size() > kShownDifferences) {
    message += "\n  and " + std::to_string(differences.size() - kShownDifferences) + " more";
  }
  throw Error(Reason::run_mismatch, message + "\nRepeat them, or give another --out.", folder);
}

}  // namespace

std::string_view run_state_name(RunState state) {
  switch (state) {
    case RunState::running:
      return "running";
    case RunState::finished:
      return "finished";
    case RunState::cancelled:
      return "cancelled";
    case RunState::stopped:
      return "stopped";
  }
  return "running";
}

RunJournal::RunJournal(fs::path folder, Json manifest)
    : folder_(std::move(folder)),
      manifest_(std::move(manifest)),
      file_(std::make_unique<RecordFile>(records_path())) {}

bool RunJournal::exists(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kManifestFile, ignored);
}

fs::path RunJournal::records_path() const { return folder_ / kRecordsFile; }

RunJournal RunJournal::create(const fs::path& folder, const Identity& identity,
                              const Json& figures) {
  make_folder(folder);
  require_no_foreign_files(folder);
  remove_leftovers(folder);
  Json manifest;
  manifest["schema"] = identity.schema;
  manifest["state"] = run_state_name(RunState::running);
  manifest["configuration"] = identity.configuration;
  manifest["configuration_sha256"] = configuration_hash(manifest["configuration"]);
  manifest["about"] = identity.about;
  manifest["started"] = utc_now();
  manifest["resumed"] = Json::array();
  manifest["finished"] = nullptr;
  manifest["stopped_because"] = nullptr;
  manifest.update(figures);
  // The manifest comes first: a folder with records always says what they were made with.
  write_file_atomic(folder / kManifestFile,
                    manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  return RunJournal(folder, std::move(manifest));
}

RunJournal RunJournal::open(const fs::path& folder, const Identity& identity) {
  const fs::path file = folder / kManifestFile;
  Json manifest = parse_manifest(read_file(file), file, identity.schema);
  require_same_configuration(manifest, identity.configuration, folder);
  return RunJournal(folder, std::move(manifest));
}

std::vector<std::string> RunJournal::read_lines() const {
  return whole_lines(read_file(records_path()));
}

void RunJournal::keep_lines(const std::vector<std::string>& lines) {
  std::size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size() + 1;
  file_->truncate(bytes);
  remove_leftovers(folder_);
}

void RunJournal::note_resumed() {
  manifest_["resumed"].push_back(utc_now());
  manifest_["finished"] = nullptr;
  manifest_["stopped_because"] = nullptr;
}

void RunJournal::write(RunState state) {
  manifest_["state"] = run_state_name(state);
  write_file_atomic(folder_ / kManifestFile,
                    manifest_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void RunJournal::finish(RunState state, const std::string& because) {
  file_->sync();
  manifest_["finished"] = utc_now();
  manifest_["stopped_because"] = because.empty() ? Json(nullptr) : Json(utf8_text(because));
  write(state);
}

JournalContents read_journal(const fs::path& folder, std::string_view schema) {
  JournalContents journal;
  const fs::path manifest_file = folder / kManifestFile;
  journal.manifest = parse_manifest(read_file(manifest_file), manifest_file, schema);
  journal.records_file = folder / kRecordsFile;
  // Killed before the first frame: there is none.
  if (fs::exists(journal.records_file)) {
    journal.lines = whole_lines(read_file(journal.records_file));
  }
  return journal;
}

}  // namespace skyfix
