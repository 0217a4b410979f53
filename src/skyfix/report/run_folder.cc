#include "skyfix/report/run_folder.h"

#include <algorithm>

#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/report/frame_path.h"
#include "skyfix/report/record_file.h"
#include "skyfix/report/record_reader.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

constexpr const char* kManifestFile = "run.json";
constexpr const char* kRecordsFile = "records.jsonl";
constexpr std::size_t kShownDifferences = 8;

// What an atomic write leaves when the process dies in it.
bool is_leftover(const fs::path& file) {
  return file.filename().string().find(".json.partial-") != std::string::npos;
}

std::string frame_text(std::string_view line) {
  return parse_json(line, {Reason::bad_run, {}}, "record")
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

// The names decide which record belongs to which input, so they are part of what must be equal.
Json full_configuration(const RunSetup& setup) {
  std::string list;
  for (const RunInput& input : setup.inputs) {
    list += std::to_string(input.index) + " " + utf8_text(input.name) + "\n";
  }
  Json configuration = setup.configuration;
  Json& inputs = configuration["inputs"];
  inputs["count"] = setup.inputs.size();
  inputs["first"] =
      setup.inputs.empty() ? Json(nullptr) : Json(utf8_text(setup.inputs.front().name));
  inputs["last"] = setup.inputs.empty() ? Json(nullptr) : Json(utf8_text(setup.inputs.back().name));
  inputs["list_sha256"] = sha256_hex(list);
  return configuration;
}

void require_no_foreign_files(const fs::path& folder) {
  std::error_code failure;
  if (fs::exists(folder / kManifestFile, failure)) {
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

// Lines parsed, the last one left out when it is not a record (power lost while it was written).
std::vector<Record> parse_lines(std::vector<std::string>& lines, const fs::path& file) {
  std::vector<Record> records;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      records.push_back(parse_record(lines[i], "line " + std::to_string(i + 1), file));
    } catch (const Error&) {
      if (i + 1 < lines.size()) throw;
      lines.pop_back();
    }
  }
  return records;
}

void require_input_order(std::vector<Record>& records, const std::vector<RunInput>& inputs,
                         const fs::path& file) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    Fix& fix = records[i].fix;
    if (i >= inputs.size() || fix.index != inputs[i].index ||
        fix.name != utf8_text(inputs[i].name)) {
      throw Error(Reason::bad_run,
                  "line " + std::to_string(i + 1) + " records " + fix.name + ", where " +
                      (i < inputs.size() ? utf8_text(inputs[i].name) : "nothing") +
                      " is due: the records are out of order",
                  file);
    }
    fix.name = inputs[i].name;  // the very bytes, where they are not UTF-8
  }
}

void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    if (is_leftover(entry.path())) leftovers.push_back(entry.path());
  }
  for (const fs::path& file : leftovers) fs::remove(file, ignored);
}

void restore_frame_files(const fs::path& folder, const std::vector<RunInput>& inputs,
                         const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const fs::path file = folder / frame_record_path(inputs[i].name);
    const std::string wanted = frame_text(lines[i]);
    std::error_code ignored;
    if (fs::file_size(file, ignored) == wanted.size() && read_file(file) == wanted) continue;
    write_file_atomic(file, wanted);
  }
}

}  // namespace

struct RunFolder::Data {
  fs::path folder;
  std::vector<RunInput> inputs;
  RecordHost host;
  Json manifest;
  RecordFile file;
  std::vector<Record> recorded;
  RunCounts counts;
  RunMemory memory;
  Json memory_limits;
  std::size_t next = 0;  // input whose record is due
  std::size_t taken_again = 0;

  Data(const fs::path& run_folder, const RunSetup& setup, Json run_manifest)
      : folder(run_folder),
        inputs(setup.inputs),
        host(setup.host),
        manifest(std::move(run_manifest)),
        file(run_folder / kRecordsFile),
        memory_limits(setup.memory_limits) {}

  void write_manifest(RunState state) {
    manifest["state"] = run_state_name(state);
    write_counts(counts, manifest);
    write_memory(memory, memory_limits, manifest);
    write_file_atomic(folder / kManifestFile,
                      manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  void count(const Fix& fix) {
    counts.add(fix);
    memory.add(fix.telemetry);
  }

  void read_back() {
    const fs::path path = folder / kRecordsFile;
    std::vector<std::string> lines = whole_lines(read_file(path));
    recorded = parse_lines(lines, path);
    require_input_order(recorded, inputs, path);
    drop_starved(lines);
    std::size_t bytes = 0;
    for (const std::string& line : lines) bytes += line.size() + 1;
    file.truncate(bytes);
    remove_leftovers(folder);
    restore_frame_files(folder, inputs, lines);
    for (const Record& record : recorded) count(record.fix);
    next = recorded.size();
  }

  // Frames that ended for want of memory may do better now. Later frames build on them (temporal
  // candidates), so all from the first on are taken again.
  void drop_starved(std::vector<std::string>& lines) {
    const auto first = std::find_if(recorded.begin(), recorded.end(), [](const Record& record) {
      return record.fix.reason == Reason::out_of_memory;
    });
    taken_again = static_cast<std::size_t>(recorded.end() - first);
    for (auto record = first; record != recorded.end(); ++record) {
      std::error_code ignored;
      fs::remove(folder / frame_record_path(record->fix.name), ignored);
    }
    recorded.erase(first, recorded.end());
    lines.resize(recorded.size());
  }
};

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

RunFolder::RunFolder(std::unique_ptr<Data> data) : data_(std::move(data)) {}
RunFolder::RunFolder(RunFolder&&) noexcept = default;
RunFolder& RunFolder::operator=(RunFolder&&) noexcept = default;
RunFolder::~RunFolder() = default;

RunFolder RunFolder::create(const fs::path& folder, const RunSetup& setup) {
  make_folder(folder);
  require_no_foreign_files(folder);
  remove_leftovers(folder);
  Json manifest;
  manifest["schema"] = kRunSchema;
  manifest["state"] = run_state_name(RunState::running);
  manifest["configuration"] = full_configuration(setup);
  manifest["configuration_sha256"] = configuration_hash(manifest["configuration"]);
  manifest["about"] = setup.about;
  manifest["started"] = utc_now();
  manifest["resumed"] = Json::array();
  manifest["finished"] = nullptr;
  manifest["stopped_because"] = nullptr;
  // The manifest comes first: a folder with records always says what they were made with.
  write_counts({}, manifest);
  write_file_atomic(folder / kManifestFile,
                    manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  return RunFolder(std::make_unique<Data>(folder, setup, std::move(manifest)));
}

RunFolder RunFolder::resume(const fs::path& folder, const RunSetup& setup) {
  const fs::path manifest_file = folder / kManifestFile;
  std::error_code ignored;
  if (!fs::exists(manifest_file, ignored)) return create(folder, setup);
  Json manifest = parse_manifest(read_file(manifest_file), manifest_file);
  require_same_configuration(manifest, full_configuration(setup), folder);
  auto data = std::make_unique<Data>(folder, setup, std::move(manifest));
  data->read_back();
  data->manifest["resumed"].push_back(utc_now());
  data->manifest["finished"] = nullptr;
  data->manifest["stopped_because"] = nullptr;
  data->write_manifest(RunState::running);
  return RunFolder(std::move(data));
}

const std::vector<Record>& RunFolder::recorded() const { return data_->recorded; }

std::vector<RecordedFix> RunFolder::recorded_fixes() const {
  std::vector<RecordedFix> fixes;
  for (const Record& record : data_->recorded) {
    const Fix& fix = record.fix;
    fixes.push_back({fix.name, fix.index, fix.pose.has_value(),
                     fix.pose ? fix.pose->cam_from_world : Rigid3{}});
  }
  return fixes;
}

void RunFolder::append(const Record& record) {
  Data& data = *data_;
  const Fix& fix = record.fix;
  if (data.next >= data.inputs.size() || fix.index != data.inputs[data.next].index ||
      fix.name != data.inputs[data.next].name) {
    throw Error(Reason::internal, "the record of " + utf8_text(fix.name) + " is not the next due",
                data.folder);
  }
  const std::string line = json_line(record_json(record, data.host));
  data.file.append(line);
  ++data.next;
  data.count(fix);
  write_file_atomic(data.folder / frame_record_path(fix.name), frame_text(line));
}

std::size_t RunFolder::taken_again() const { return data_->taken_again; }

const RunCounts& RunFolder::counts() const { return data_->counts; }

void RunFolder::finish(RunState state, const std::string& because) {
  if (state == RunState::finished && data_->next < data_->inputs.size()) {
    throw Error(Reason::internal, "the run is finished and lacks records", data_->folder);
  }
  data_->file.sync();
  data_->manifest["finished"] = utc_now();
  data_->manifest["stopped_because"] = because.empty() ? Json(nullptr) : Json(utf8_text(because));
  data_->write_manifest(state);
}

RunContents read_run(const fs::path& folder) {
  RunContents run;
  const fs::path manifest_file = folder / kManifestFile;
  run.manifest = parse_manifest(read_file(manifest_file), manifest_file);
  const fs::path records_file = folder / kRecordsFile;
  if (!fs::exists(records_file)) return run;  // killed before the first frame
  run.lines = whole_lines(read_file(records_file));
  run.records = parse_lines(run.lines, records_file);
  for (std::size_t i = 1; i < run.records.size(); ++i) {
    if (run.records[i].fix.index > run.records[i - 1].fix.index) continue;
    throw Error(Reason::bad_run, "line " + std::to_string(i + 1) + " is out of order",
                records_file);
  }
  return run;
}

std::string canonical_records(const fs::path& folder) {
  std::string text;
  for (const std::string& line : read_run(folder).lines) {
    text += canonical_record_line(line) + "\n";
  }
  return text;
}

}  // namespace skyfix
