// The folder of a reconstruction, written as it streams (docs/formats.md, "The run folder of a
// reconstruction"):
//
//   run.json          what it was made with, how it ended, windows
//   records.jsonl     one line an input frame: the truth; written last, when the rest of the frame
//                     is there
//   trajectory.tum    camera to world
//   cloud.ply         thinned point cloud; its header is valid at every moment
//   cloud.json        what the cloud is: offset, unit, threshold, voxel, sky, points by frame
//   depth/NAME.png    or .npy, if asked for
//   sparse/0          COLMAP model: poses every 64 frames, with points at the end
//
// Units are arbitrary everywhere. Readable when cut at any moment; a resumed run's files are equal,
// byte for byte, to those of an uninterrupted one (run.json and telemetry aside).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "skyfix/map/colmap_model.h"
#include "skyfix/report/cloud.h"
#include "skyfix/report/depth_file.h"
#include "skyfix/report/run_journal.h"
#include "skyfix/report/stream_record.h"

namespace skyfix {

// Which files are written. All of this changes them, so it goes into the configuration.
struct StreamOutputs {
  bool cloud = true;
  CloudOptions cloud_options;  // the threshold is used by records as well
  DepthFormat depth = DepthFormat::none;
  bool colmap = true;
  ColmapFormat colmap_format = ColmapFormat::binary;
  // The cloud thinned further to at most so many; 0 = a model of poses only.
  std::int64_t colmap_max_points = 200'000;
  void validate() const;  // throws Error(bad_option)
};

struct StreamRunSetup {
  // Everything that results depend on: options, weights hash, the source's configuration, program
  // version. The outputs are added to it. A run is resumed only with an equal one.
  Json configuration = Json::object();
  // Worth knowing, without influence on results. "units": "arbitrary" is added.
  Json about = Json::object();
  StreamOutputs outputs;
  std::string sky = "none";  // how sky is found, in words, for cloud.json
  RecordHost host;
};

struct StreamCounts {
  std::int64_t frames = 0;
  std::map<StreamStatus, std::int64_t> by_status;
  std::map<Reason, std::int64_t> by_reason;
  void add(const StreamRecord& record);
  std::int64_t with(StreamStatus status) const;
};

class StreamRun {
 public:
  // A new run; `folder` may exist when it is empty. Throws Error(bad_option); as
  // RunFolder::create otherwise.
  static StreamRun create(const std::filesystem::path& folder, const StreamRunSetup& setup);
  // Goes on with the run in `folder`, or begins it where there is none. A cut last line is dropped;
  // the other files are cut to the recorded frames. Throws as RunFolder::resume.
  static StreamRun resume(const std::filesystem::path& folder, const StreamRunSetup& setup);

  StreamRun(StreamRun&&) noexcept;
  StreamRun& operator=(StreamRun&&) noexcept;
  ~StreamRun();  // leaves the run resumable

  // All frames recorded so far, in order of the input: after resume() those that were there.
  const std::vector<StreamRecord>& recorded() const;

  // Writes everything of the next frame. Indices must grow (Error(internal)). Throws
  // Error(unwritable_output), also for a full disk: everything written so far stays valid, and the
  // frame is recorded whole or not at all. The run then takes no more frames, only finish().
  void append(const StreamFrame& frame);

  const StreamCounts& counts() const;

  // Writes cloud.json, the COLMAP model, counts, windows and end time. `because` says why a run was
  // stopped; `memory` becomes the manifest's. Windows of an earlier part that `figures` does not
  // have are kept. Throws Error(unwritable_output).
  void finish(RunState state, const std::string& because, const StreamFigures& figures,
              const Json& memory = Json::object());

 private:
  struct Data;
  explicit StreamRun(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

// Which job a run folder is of, by its manifest. Throws Error(unreadable_file | bad_run).
enum class RunKind { localize, reconstruct };
RunKind run_kind(const std::filesystem::path& folder);

// A reconstruction as it lies on the disk, finished or not; nothing is changed. A cut last line is
// left out.
struct StreamRunContents {
  Json manifest;
  std::vector<std::string> lines;
  std::vector<StreamRecord> records;
};
// Throws Error(unreadable_file | bad_run).
StreamRunContents read_stream_run(const std::filesystem::path& folder);

// As canonical_records(), for a reconstruction.
std::string canonical_stream_records(const std::filesystem::path& folder);

}  // namespace skyfix
