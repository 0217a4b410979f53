#include "skyfix/report/stream_run.h"

#include <algorithm>
#include <set>

#include "skyfix/base/file.h"
#include "skyfix/report/cloud_file.h"
#include "skyfix/report/stream_export.h"
#include "skyfix/report/stream_manifest.h"
#include "skyfix/report/utf8.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

constexpr const char* kCloudFile = "cloud.ply";
constexpr const char* kTrajectoryFile = "trajectory.tum";
constexpr std::int64_t kFramesBetweenSideFiles = 64;
constexpr std::int64_t kFramesBetweenSyncs = 32;  // as records.jsonl, which is to come last

RunJournal::Identity identity_of(const StreamRunSetup& setup) {
  Json about = setup.about;
  about["units"] = "arbitrary";
  return {kStreamRunSchema, stream_run_configuration(setup), std::move(about)};
}

std::vector<StreamRecord> parse_lines(std::vector<std::string>& lines, const fs::path& file) {
  std::vector<StreamRecord> records =
      parse_journal_lines(lines, [&](const std::string& line, const std::string& where) {
        return parse_stream_record(line, where, file);
      });
  for (std::size_t i = 1; i < records.size(); ++i) {
    if (records[i].index > records[i - 1].index) continue;
    throw Error(Reason::bad_run, "line " + std::to_string(i + 1) + " is out of order", file);
  }
  return records;
}

void write_if_other(const fs::path& file, const std::string& content) {
  std::error_code ignored;
  if (fs::file_size(file, ignored) == content.size() && read_file(file) == content) return;
  write_file_atomic(file, content);
}

}  // namespace

void StreamOutputs::validate() const {
  cloud_options.validate();
  if (colmap_max_points < 0) {
    throw Error(Reason::bad_option, "--colmap-points must not be negative; 0 = poses only");
  }
}

void StreamCounts::add(const StreamRecord& record) {
  ++frames;
  ++by_status[record.status];
  if (record.reason) ++by_reason[*record.reason];
}

std::int64_t StreamCounts::with(StreamStatus status) const {
  const auto found = by_status.find(status);
  return found == by_status.end() ? 0 : found->second;
}

struct StreamRun::Data {
  RunJournal journal;
  StreamRunSetup setup;
  std::vector<StreamRecord> records;
  StreamCounts counts;
  std::unique_ptr<CloudWriter> cloud;
  std::unique_ptr<RecordFile> trajectory;
  std::size_t trajectory_bytes = 0;
  std::optional<bool> time_is_index;  // by the first ok frame
  std::optional<std::int64_t> last_time;
  std::set<std::string> depth_files;
  bool broken = false;  // by a failed write

  Data(RunJournal run_journal, StreamRunSetup run_setup)
      : journal(std::move(run_journal)), setup(std::move(run_setup)) {}

  fs::path at(const char* name) const { return journal.folder() / name; }
  const StreamOutputs& outputs() const { return setup.outputs; }
  std::int64_t last_frame() const { return records.empty() ? 0 : records.back().index; }

  void note(const StreamRecord& record) {
    counts.add(record);
    if (!record.view) return;
    if (!time_is_index) time_is_index = !record.time_ns;
    if (record.view->depth) depth_files.insert(record.view->depth->file);
  }

  // Brings the other files to where the records are: of none for a new run.
  void open_files() {
    for (const StreamRecord& record : records) note(record);
    const std::string trajectory_text = export_stream_tum(records);
    write_if_other(at(kTrajectoryFile), trajectory_text);
    trajectory = std::make_unique<RecordFile>(at(kTrajectoryFile));
    trajectory_bytes = trajectory_text.size();
    for (const StreamRecord& record : records) {
      stream_tum_line(record, time_is_index.value_or(false), last_time);
    }
    if (outputs().cloud) open_cloud();
    remove_stray_depth();
  }

  void open_cloud() {
    if (fs::exists(at(kCloudFile))) {
      cloud = std::make_unique<CloudWriter>(at(kCloudFile), outputs().cloud_options, last_frame());
    } else if (counts.with(StreamStatus::ok) == 0) {
      cloud = std::make_unique<CloudWriter>(at(kCloudFile), outputs().cloud_options);
    } else {
      throw Error(Reason::bad_run, "the run's cloud is gone: make the run again", at(kCloudFile));
    }
  }

  void remove_stray_depth() {
    std::error_code ignored;
    std::vector<fs::path> stray;
    for (const auto& entry : fs::recursive_directory_iterator(at("depth"), ignored)) {
      const fs::path& file = entry.path();
      if (!entry.is_regular_file(ignored)) continue;
      if (depth_files.count(utf8_text(file.lexically_relative(journal.folder()).string())) == 0) {
        stray.push_back(file);
      }
    }
    for (const fs::path& file : stray) fs::remove(file, ignored);
  }

  // Records whose points a loss of power took are made again.
  void read_back() {
    std::vector<std::string> lines = journal.read_lines();
    records = parse_lines(lines, journal.records_path());
    if (outputs().cloud && fs::exists(at(kCloudFile))) {
      const auto last = last_whole_frame(at(kCloudFile));
      while (last && !records.empty() && records.back().index > *last) records.pop_back();
      lines.resize(records.size());
    }
    journal.keep_lines(lines);
    open_files();
  }

  std::optional<DepthFile> write_depth(const StreamFrame& frame) {
    const DepthFormat format = outputs().depth;
    if (format == DepthFormat::none || frame.status != StreamStatus::ok) return std::nullopt;
    fs::path file = depth_path(frame.name, format, false);
    if (depth_files.count(utf8_text(file.string())) > 0) {
      file = depth_path(frame.name, format, true);  // a.jpg beside a.png
    }
    const StreamPrediction& prediction = frame.prediction;
    const EncodedDepth encoded =
        encode_depth(prediction.depth, prediction.width, prediction.height, format);
    write_file_atomic(journal.folder() / file, encoded.bytes);
    return DepthFile{utf8_text(file.string()), std::string(depth_format_name(format)),
                     encoded.units_per_step};
  }

  // Cloud, trajectory, then the record, which makes the rest valid.
  void write_frame(const StreamFrame& frame, const StreamRecord& record) {
    const bool with_cloud = cloud && record.view;
    if (with_cloud) cloud->add(frame);
    const std::size_t bytes_before = trajectory_bytes;
    try {
      std::optional<std::int64_t> time = last_time;
      const bool by_index = time_is_index.value_or(!record.time_ns);
      const std::string line = stream_tum_line(record, by_index, time);
      if (!line.empty()) {
        trajectory->append(line.substr(0, line.size() - 1));
        trajectory_bytes += line.size();
      }
      if (cloud && counts.frames % kFramesBetweenSyncs == kFramesBetweenSyncs - 1) cloud->sync();
      journal.append(json_line(stream_record_json(record)));
      last_time = time;
    } catch (...) {
      if (trajectory_bytes != bytes_before) trajectory->truncate(bytes_before);
      if (with_cloud) cloud->undo();
      throw;
    }
  }

  void write_cloud_json() {
    if (!cloud) return;
    write_if_other(at("cloud.json"),
                   cloud_json(*cloud, outputs().cloud_options, setup.sky).dump(2) + "\n");
  }

  void write_model(std::int64_t most_points) {
    if (!outputs().colmap || counts.with(StreamStatus::ok) == 0) return;
    std::vector<CloudPoint> points;
    if (cloud && most_points > 0) points = thinned_cloud(at(kCloudFile), most_points);
    const Eigen::Vector3d offset = cloud ? cloud->header().offset : Eigen::Vector3d::Zero().eval();
    write_colmap(stream_colmap(records, points, offset), journal.folder() / "sparse" / "0",
                 outputs().colmap_format);
  }

  void write_side_files() {
    write_cloud_json();
    write_model(0);
    write_stream_counts(counts, journal.manifest());
    journal.write(RunState::running);
  }
};

StreamRun::StreamRun(std::unique_ptr<Data> data) : data_(std::move(data)) {}
StreamRun::StreamRun(StreamRun&&) noexcept = default;
StreamRun& StreamRun::operator=(StreamRun&&) noexcept = default;
StreamRun::~StreamRun() = default;

StreamRun StreamRun::create(const fs::path& folder, const StreamRunSetup& setup) {
  setup.outputs.validate();
  Json counts = Json::object();
  write_stream_counts({}, counts);
  auto data = std::make_unique<Data>(RunJournal::create(folder, identity_of(setup), counts), setup);
  data->open_files();
  return StreamRun(std::move(data));
}

StreamRun StreamRun::resume(const fs::path& folder, const StreamRunSetup& setup) {
  setup.outputs.validate();
  if (!RunJournal::exists(folder)) return create(folder, setup);
  auto data = std::make_unique<Data>(RunJournal::open(folder, identity_of(setup)), setup);
  data->read_back();
  data->journal.note_resumed();
  write_stream_counts(data->counts, data->journal.manifest());
  data->journal.write(RunState::running);
  return StreamRun(std::move(data));
}

const std::vector<StreamRecord>& StreamRun::recorded() const { return data_->records; }

const StreamCounts& StreamRun::counts() const { return data_->counts; }

void StreamRun::append(const StreamFrame& frame) {
  Data& data = *data_;
  if (data.broken || frame.index <= data.last_frame()) {
    throw Error(Reason::internal,
                "the result of " + utf8_text(frame.name) +
                    (data.broken ? " comes after a write that failed" : " is out of order"),
                data.journal.folder());
  }
  data.broken = true;
  StreamRecord record = stream_record(frame, data.outputs().cloud_options.confidence_threshold,
                                      data.write_depth(frame), data.setup.host);
  data.write_frame(frame, record);
  data.note(record);
  data.records.push_back(std::move(record));
  if (data.cloud) data.cloud->settle();
  if (data.counts.frames % kFramesBetweenSideFiles == 0) data.write_side_files();
  data.broken = false;
}

void StreamRun::finish(RunState state, const std::string& because, const StreamFigures& figures,
                       const Json& memory) {
  Data& data = *data_;
  std::exception_ptr failure;
  std::string reason = because;
  try {
    if (data.cloud) data.cloud->sync();
    data.trajectory->sync();
    data.write_cloud_json();
    data.write_model(data.outputs().colmap_max_points);
  } catch (const Error& error) {
    failure = std::current_exception();  // the manifest may still find room
    if (reason.empty()) reason = error.message();
    if (state == RunState::finished) state = RunState::stopped;
  }
  write_stream_counts(data.counts, data.journal.manifest());
  write_stream_figures(figures, data.journal.manifest());
  data.journal.manifest()["memory"] = memory;
  data.journal.finish(state, reason);
  if (failure) std::rethrow_exception(failure);
}

RunKind run_kind(const fs::path& folder) {
  const fs::path file = folder / "run.json";
  const JsonSource source{Reason::bad_run, file};
  const Json manifest = parse_json(read_file(file), source, "run manifest");
  const std::string schema = JsonFields(manifest, source, "run manifest").text("schema");
  return schema == kStreamRunSchema ? RunKind::reconstruct : RunKind::localize;
}

StreamRunContents read_stream_run(const fs::path& folder) {
  JournalContents journal = read_journal(folder, kStreamRunSchema);
  StreamRunContents run{std::move(journal.manifest), std::move(journal.lines), {}};
  run.records = parse_lines(run.lines, journal.records_file);
  return run;
}

std::string canonical_stream_records(const fs::path& folder) {
  std::string text;
  for (const std::string& line : read_stream_run(folder).lines) {
    text += canonical_stream_record_line(line) + "\n";
  }
  return text;
}

}  // namespace skyfix
