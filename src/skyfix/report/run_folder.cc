#include "skyfix/report/run_folder.h"

#include <algorithm>

#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/report/frame_path.h"
#include "skyfix/report/record_reader.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

std::string frame_text(std::string_view line) {
  return parse_json(line, {Reason::bad_run, {}}, "record")
             .dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

// The names decide which record belongs to which input, so they are part of what must be equal.
Json full_configuration(const RunSetup& setup) {
  Json configuration = setup.configuration;
  if (!setup.inputs_known) {
    configuration["inputs"] = nullptr;
    return configuration;
  }
  const std::vector<RunInput>& names = setup.inputs;
  std::string list;
  for (const RunInput& input : names) {
    list += std::to_string(input.index) + " " + utf8_text(input.name) + "\n";
  }
  Json& inputs = configuration["inputs"];
  inputs["count"] = names.size();
  inputs["first"] = names.empty() ? Json(nullptr) : Json(utf8_text(names.front().name));
  inputs["last"] = names.empty() ? Json(nullptr) : Json(utf8_text(names.back().name));
  inputs["list_sha256"] = sha256_hex(list);
  return configuration;
}

std::vector<Record> parse_lines(std::vector<std::string>& lines, const fs::path& file) {
  return parse_journal_lines(lines, [&](const std::string& line, const std::string& where) {
    return parse_record(line, where, file);
  });
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

void require_rising_indices(const std::vector<Record>& records, const fs::path& file) {
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].fix.index > records[i - 1].fix.index) continue;
    throw Error(Reason::bad_run, "line " + std::to_string(i + 1) + " is out of order", file);
  }
}

void restore_frame_files(const fs::path& folder, const std::vector<Record>& records,
                         const std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const fs::path file = folder / frame_record_path(records[i].fix.name);
    const std::string wanted = frame_text(lines[i]);
    std::error_code ignored;
    if (fs::file_size(file, ignored) == wanted.size() && read_file(file) == wanted) continue;
    write_file_atomic(file, wanted);
  }
}

}  // namespace

struct RunFolder::Data {
  RunJournal journal;
  std::vector<RunInput> inputs;
  bool inputs_known;
  RecordHost host;
  std::vector<Record> recorded;
  RunCounts counts;
  RunMemory memory;
  Json memory_limits;
  std::size_t next = 0;  // input whose record is due
  std::int64_t last_index = 0;
  std::size_t taken_again = 0;

  Data(RunJournal run_journal, const RunSetup& setup)
      : journal(std::move(run_journal)),
        inputs(setup.inputs),
        inputs_known(setup.inputs_known),
        host(setup.host),
        memory_limits(setup.memory_limits) {}

  void note_figures() {
    write_counts(counts, journal.manifest());
    write_memory(memory, memory_limits, journal.manifest());
  }

  void count(const Fix& fix) {
    counts.add(fix);
    memory.add(fix.telemetry);
  }

  void read_back() {
    std::vector<std::string> lines = journal.read_lines();
    recorded = parse_lines(lines, journal.records_path());
    if (inputs_known) {
      require_input_order(recorded, inputs, journal.records_path());
    } else {
      require_rising_indices(recorded, journal.records_path());
    }
    drop_starved(lines);
    journal.keep_lines(lines);
    restore_frame_files(journal.folder(), recorded, lines);
    for (const Record& record : recorded) count(record.fix);
    if (!recorded.empty()) last_index = recorded.back().fix.index;
    next = recorded.size();
  }

  bool is_due(const Fix& fix) const {
    if (!inputs_known) return fix.index > last_index;
    return next < inputs.size() && fix.index == inputs[next].index && fix.name == inputs[next].name;
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
      fs::remove(journal.folder() / frame_record_path(record->fix.name), ignored);
    }
    recorded.erase(first, recorded.end());
    lines.resize(recorded.size());
  }
};

RunFolder::RunFolder(std::unique_ptr<Data> data) : data_(std::move(data)) {}
RunFolder::RunFolder(RunFolder&&) noexcept = default;
RunFolder& RunFolder::operator=(RunFolder&&) noexcept = default;
RunFolder::~RunFolder() = default;

RunFolder RunFolder::create(const fs::path& folder, const RunSetup& setup) {
  Json counts = Json::object();
  write_counts({}, counts);
  RunJournal journal =
      RunJournal::create(folder, {kRunSchema, full_configuration(setup), setup.about}, counts);
  return RunFolder(std::make_unique<Data>(std::move(journal), setup));
}

RunFolder RunFolder::resume(const fs::path& folder, const RunSetup& setup) {
  if (!RunJournal::exists(folder)) return create(folder, setup);
  auto data = std::make_unique<Data>(
      RunJournal::open(folder, {kRunSchema, full_configuration(setup), setup.about}), setup);
  data->read_back();
  data->journal.note_resumed();
  data->note_figures();
  data->journal.write(RunState::running);
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
  if (!data.is_due(fix)) {
    throw Error(Reason::internal, "the record of " + utf8_text(fix.name) + " is not the next due",
                data.journal.folder());
  }
  const std::string line = json_line(record_json(record, data.host));
  data.journal.append(line);
  ++data.next;
  data.last_index = fix.index;
  data.count(fix);
  write_file_atomic(data.journal.folder() / frame_record_path(fix.name), frame_text(line));
}

std::size_t RunFolder::taken_again() const { return data_->taken_again; }

const RunCounts& RunFolder::counts() const { return data_->counts; }

void RunFolder::finish(RunState state, const std::string& because) {
  if (state == RunState::finished && data_->inputs_known && data_->next < data_->inputs.size()) {
    throw Error(Reason::internal, "the run is finished and lacks records", data_->journal.folder());
  }
  data_->note_figures();
  data_->journal.finish(state, because);
}

RunContents read_run(const fs::path& folder) {
  JournalContents journal = read_journal(folder, kRunSchema);
  RunContents run{std::move(journal.manifest), std::move(journal.lines), {}};
  run.records = parse_lines(run.lines, journal.records_file);
  require_rising_indices(run.records, journal.records_file);
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
