#include "skyfix/stream/reconstructor.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <deque>

#include "skyfix/base/error.h"
#include "skyfix/base/log.h"
#include "skyfix/memory/device.h"
#include "skyfix/stream/checkpoints.h"
#include "skyfix/stream/frame_preparer.h"
#include "skyfix/stream/window_plan.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median_of_sure(const StreamPrediction& prediction, const std::vector<std::uint8_t>& sky) {
  std::vector<float> values;
  for (std::size_t i = 0; i < prediction.confidence.size(); ++i) {
    if (sky.empty() || sky[i] == 0) values.push_back(prediction.confidence[i]);
  }
  if (values.empty()) return 0;
  const auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One input frame on its way: its result waits for its prediction, and for those before it.
struct Waiting {
  StreamFrame frame;
  bool finished = false;
  std::optional<std::int64_t> arrived_steady_ns;
  Clock::time_point taken = Clock::now();
};

class Reconstruction {
 public:
  Reconstruction(std::shared_ptr<const Gct> network, FrameSource& source,
                 const ReconstructOptions& options, const StreamSink& sink, Progress& progress)
      : network_(std::move(network)),
        source_(source),
        options_(options),
        sink_(sink),
        progress_(progress),
        known_frames_(
            source.info().kind == FrameSourceKind::live ? 0 : source.info().frames.value_or(0)),
        session_(std::make_unique<StreamSession>(network_, options.stream, known_frames_)) {}

  StreamResult run(const std::atomic<bool>& cancel) {
    resume();
    progress_.start("reconstruct", static_cast<std::size_t>(known_frames_));
    FramePreparer preparer(source_, {.image_size = options_.image_size,
                                     .fit = options_.fit,
                                     .max_megapixels = options_.max_megapixels});
    ending([&] {
      while (auto frame = preparer.next(cancel)) take(std::move(*frame));
      result_.cancelled = cancel;
      // A cut run goes on from its checkpoint or its records; a live one is at its end.
      if (!cancel || source_.info().kind == FrameSourceKind::live) finish();
    });
    if (result_.ended_reason == Reason::source_lost) ending([&] { finish(); });
    progress_.finish();
    if (read_ == 0 && result_.ended_by.empty() && !cancel) {
      throw Error(Reason::no_input, "the input gives no frame");
    }
    result_.figures = session_->figures();
    result_.source = source_.figures();
    return result_;
  }

 private:
  // What ends the run but not the program is noted.
  template <class Work>
  void ending(const Work& work) {
    try {
      work();
    } catch (const OutOfDeviceMemory& failure) {
      end(Reason::out_of_memory,
          fmt::format("{} at frame {}: lower --window, --num-scale-frames or --image-size, or "
                      "raise --gpu-memory",
                      failure.what(), read_));
    } catch (const DeviceFailure& failure) {
      end(Reason::device_failed, failure.what());
    } catch (const Error& error) {
      if (error.reason() != Reason::source_lost) throw;
      end(Reason::source_lost, error.message());
    }
  }

  // Work of the session; once more where memory runs out, which leaves the session as it was.
  template <class Work>
  void with_one_retry(const Work& work) {
    std::string shortage;
    try {
      return work();
    } catch (const OutOfDeviceMemory& failure) {
      shortage = failure.what();
    }
    log::warn("{} at frame {}: it is computed again", shortage, read_);
    if (!queue_.empty()) {
      queue_.back().frame.warnings.push_back(shortage + ": the frame was computed again");
    }
    if (options_.device != nullptr) options_.device->trim();
    work();
  }

  void end(Reason reason, std::string text) {
    result_.ended_reason = reason;
    result_.ended_by = std::move(text);
  }

  // From the newest checkpoint that can be read, else from the beginning.
  void resume() {
    if (options_.recorded_frames == 0) return;
    for (const auto& each :
         usable_checkpoints(options_.checkpoint_folder, options_.recorded_frames)) {
      try {
        session_->restore(each.file);
        checkpoint_ = each;
        given_ = each.given;
        result_.resumed_from = each.read;
        result_.resume_note = fmt::format("going on from the checkpoint after frame {}", each.read);
        return;
      } catch (const Error& error) {
        log::warn("{}: not used", error.what());
        session_ = std::make_unique<StreamSession>(network_, options_.stream, known_frames_);
      }
    }
    result_.resume_note =
        "there is no checkpoint to go on from: every frame is computed again (the recorded ones "
        "are kept); --checkpoint-every writes some";
  }

  void take(PreparedFrame&& prepared) {
    ++read_;
    Waiting& waiting = queue_.emplace_back();
    begin(prepared, waiting);
    if (!waiting.finished) fit_to_stream(prepared, waiting);
    // The checkpoint's session has seen it; its result was given, or comes out of the session yet.
    const bool seen = read_ <= checkpoint_.read;
    if (!waiting.finished) {
      waiting.frame.map = prepared.map;
      waiting.frame.picture = prepared.picture;
      network_began_ = Clock::now();
      if (!seen) {
        with_one_retry([&] { session_->push(prepared.picture.view(), predicted_sink()); });
      }
    }
    if (read_ <= checkpoint_.given) {
      queue_.pop_back();
      progress_.advance();
      return;
    }
    give_finished();
    if (!seen) write_checkpoint();
  }

  void begin(const PreparedFrame& prepared, Waiting& waiting) {
    StreamFrame& frame = waiting.frame;
    frame.name = prepared.source.name;
    frame.index = prepared.source.index;
    frame.time_ns = prepared.source.time_ns;
    frame.timing_ms["prepare"] = prepared.preparing_ms;
    waiting.arrived_steady_ns = prepared.source.arrived_steady_ns;
    if (prepared.source.failure) {
      finish_without(waiting, StreamStatus::failed, *prepared.source.failure,
                     prepared.source.failure_text);
    }
  }

  static void finish_without(Waiting& waiting, StreamStatus status, Reason reason,
                             std::string text) {
    waiting.frame.status = status;
    waiting.frame.reason = reason;
    waiting.frame.reason_text = std::move(text);
    waiting.finished = true;
  }

  void fit_to_stream(PreparedFrame& prepared, Waiting& waiting) {
    if (width_ == 0) {
      width_ = prepared.picture.width;
      height_ = prepared.picture.height;
    }
    if (prepared.picture.width > width_ || prepared.picture.height > height_) {
      finish_without(waiting, StreamStatus::rejected, Reason::unsupported_image,
                     fmt::format("the network would see {} x {} px of this frame, and this stream "
                                 "began with {} x {}: reconstruct pictures of another shape apart",
                                 prepared.picture.width, prepared.picture.height, width_, height_));
      return;
    }
    pad_to(prepared.picture, prepared.map, width_, height_);
  }

  StreamSession::Sink predicted_sink() {
    return [this](StreamPrediction&& prediction) { predicted(std::move(prediction)); };
  }

  // Predictions come in the order of the frames that have one.
  void predicted(StreamPrediction&& prediction) {
    const auto waiting = std::find_if(queue_.begin(), queue_.end(),
                                      [](const Waiting& each) { return !each.finished; });
    if (waiting == queue_.end()) throw Error(Reason::internal, "a prediction of no frame");
    complete(*waiting, std::move(prediction));
  }

  void complete(Waiting& waiting, StreamPrediction&& prediction) {
    StreamFrame& frame = waiting.frame;
    waiting.finished = true;
    frame.timing_ms["network"] = milliseconds_since(network_began_);
    frame.timing_ms["total"] = milliseconds_since(waiting.taken);
    const auto view = gct_view(prediction.pose, frame.map);
    if (!view) {
      finish_without(waiting, StreamStatus::rejected, Reason::implausible_pose,
                     "the network's pose is no camera: not finite, or without a field of view");
      return;
    }
    frame.status = StreamStatus::ok;
    frame.position = prediction.position;
    frame.role = prediction.role;
    frame.window = prediction.window;
    frame.view = *view;
    std::string note;
    try {
      frame.sky = sky_of(options_.sky, frame.name, prediction.position, frame.map, prediction.depth,
                         prediction.confidence, &note);
    } catch (const Error& error) {
      note = error.what();
    }
    if (!note.empty()) {
      if (++frames_without_mask_ == 1) log::warn("{} (each such frame's record says so)", note);
      frame.warnings.push_back(note);
    }
    frame.median_confidence = median_of_sure(prediction, frame.sky);
    frame.prediction = std::move(prediction);
  }

  // In input order, up to the first that is still waited for.
  void give_finished() {
    while (!queue_.empty() && queue_.front().finished) {
      Waiting waiting = std::move(queue_.front());
      queue_.pop_front();
      if (waiting.arrived_steady_ns) {
        const auto now = Clock::now().time_since_epoch();
        const auto now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
        waiting.frame.latency_ms = static_cast<double>(now_ns - *waiting.arrived_steady_ns) / 1e6;
      }
      progress_.advance();
      // What an earlier part of the run has recorded was computed for the network's sake alone.
      if (given_++ < options_.recorded_frames) continue;
      ++result_.done;
      sink_(std::move(waiting.frame));
    }
  }

  void finish() {
    with_one_retry([&] { session_->finish(predicted_sink()); });
    give_finished();
  }

  void write_checkpoint() {
    const fs::path& folder = options_.checkpoint_folder;
    if (folder.empty()) return;
    const bool wanted = options_.checkpoint_every > 0 && read_ % options_.checkpoint_every == 0;
    if (!wanted && !session_->at_window_end()) return;
    fs::create_directories(folder);
    const auto begin = Clock::now();
    session_->save(checkpoint_file(folder, read_, given_));
    keep_newest(folder, 2);
    log::debug("checkpoint after frame {}: {:.0f} ms", read_, milliseconds_since(begin));
  }

  std::shared_ptr<const Gct> network_;
  FrameSource& source_;
  const ReconstructOptions& options_;
  const StreamSink& sink_;
  Progress& progress_;
  std::int64_t known_frames_;
  std::unique_ptr<StreamSession> session_;
  StreamCheckpoint checkpoint_;  // that the run went on from
  StreamResult result_;
  std::deque<Waiting> queue_;  // in input order
  std::int64_t read_ = 0;      // frames of the source
  std::int64_t given_ = 0;     // results, in this and earlier parts of the run
  int width_ = 0, height_ = 0;
  std::int64_t frames_without_mask_ = 0;
  Clock::time_point network_began_ = Clock::now();
};

}  // namespace

void ReconstructOptions::validate() const {
  stream.validate();
  if (stream.mode == StreamMode::windowed) {
    window_sizes(stream,
                 effective_keyframe_interval(stream, 0));  // throws for too large an overlap
  }
  if (!sky.mask_folder.empty() && !fs::is_directory(sky.mask_folder)) {
    throw Error(Reason::unreadable_file, "--mask-dir is no folder", sky.mask_folder);
  }
  gct_frame_map(4, 3, image_size, fit);  // throws for a size that no picture can have
  if (checkpoint_every < 0) {
    throw Error(
        Reason::bad_option,
        fmt::format("--checkpoint-every is {}; allowed is 0 (off) or more", checkpoint_every));
  }
  if (!(max_megapixels > 0)) {
    throw Error(Reason::bad_option,
                fmt::format("--max-megapixels is {}; allowed is above 0", max_megapixels));
  }
}

StreamResult reconstruct(const std::shared_ptr<const Gct>& network, FrameSource& source,
                         const ReconstructOptions& options, const StreamSink& sink,
                         Progress& progress, const std::atomic<bool>& cancel) {
  options.validate();
  return Reconstruction(network, source, options, sink, progress).run(cancel);
}

}  // namespace skyfix
