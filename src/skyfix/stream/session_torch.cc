#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "skyfix/base/error.h"
#include "skyfix/stream/session_state_torch.h"

namespace skyfix {
namespace {

BytePicture copied(const PictureView& view) {
  const std::size_t bytes = std::size_t(view.width) * view.height * view.channels;
  return {{view.pixels, view.pixels + bytes}, view.width, view.height, view.channels};
}

// Keyframes of a stream of unknown length are chosen by motion where nothing else is asked for.
int interval_of(const StreamOptions& options, std::int64_t frames) {
  const bool unknown =
      options.keyframe_interval == 0 && frames == 0 && options.mode == StreamMode::streaming;
  if (options.motion_px > 0 || unknown) return 0;
  return effective_keyframe_interval(options, frames);
}

}  // namespace

StreamSession::State::State(std::shared_ptr<const Gct> gct, const StreamOptions& given,
                            std::int64_t frames)
    : network(std::move(gct)),
      options(given),
      known_frames(frames),
      interval(interval_of(given, frames)) {
  options.validate();
  if (windowed()) sizes = window_sizes(options, interval);
}

void StreamSession::State::begin_window() {
  const StreamWindowPlace place{
      .window = window_number,
      .first_frame = window_begin,
      .scale_frames = options.num_scale_frames,
      .keyframe_interval = interval,
      .most_kept = windowed() ? kept_frames(sizes.frames, options.num_scale_frames, interval)
                              : kept_frames(known_frames, options.num_scale_frames, interval),
  };
  window.reset();  // its memory is the next one's
  window = std::make_unique<StreamWindow>(network, options, place, width, height);
  WindowAlignment alignment;
  alignment.window = window_number;
  alignment.first_frame = window_begin;
  Eigen::Map<Eigen::Matrix4d>(alignment.world_from_window.data()).setIdentity();
  alignments.push_back(alignment);
  transform = {};
  shared.clear();
}

void StreamSession::State::flush_in_flight(const Sink& sink) {
  std::vector<StreamPrediction> predictions = std::move(arrived);
  arrived.clear();
  if (in_flight) {
    predictions = in_flight->take();
    in_flight.reset();
  }
  for (StreamPrediction& prediction : predictions) deliver(std::move(prediction), sink);
}

void StreamSession::State::drain(bool ending, const Sink& sink) {
  while (!queue.empty()) {
    if (!window) begin_window();
    const bool first = window->frames() == 0;
    const auto wanted = std::size_t(first ? options.num_scale_frames : 1);
    if (queue.size() < wanted && !ending) return;
    const std::size_t count = std::min(wanted, queue.size());
    const std::vector<BytePicture> pictures(queue.begin(), queue.begin() + count);
    PendingPredictions pending = window->run(pictures);
    queue.erase(queue.begin(), queue.begin() + count);
    // Those of the call before have arrived by now.
    flush_in_flight(sink);
    in_flight.emplace(std::move(pending));
    if (!options.offload_to_cpu) flush_in_flight(sink);
  }
}

void StreamSession::State::give(StreamPrediction&& prediction, const Sink& sink) {
  ++predicted;
  sink(std::move(prediction));
}

// All that are held but the newest `but`.
void StreamSession::State::give_held(std::int64_t but, const Sink& sink) {
  while (std::ssize(held) > but) {
    StreamPrediction oldest = std::move(held.front());
    held.erase(held.begin());
    give(std::move(oldest), sink);
  }
}

// Both windows have predicted the frames that they share.
void StreamSession::State::align_shared(const Sink& sink) {
  WindowAlignment& alignment = alignments.back();
  WindowAlignment made = align_window(before, shared, transform);
  made.window = alignment.window;
  made.first_frame = alignment.first_frame;
  made.frames = alignment.frames;
  alignment = made;
  before.clear();
  std::vector<StreamPrediction> aligned = std::move(shared);
  shared.clear();
  for (StreamPrediction& each : aligned) deliver(std::move(each), sink);
}

void StreamSession::State::deliver(StreamPrediction&& prediction, const Sink& sink) {
  alignments.back().frames =
      std::max(alignments.back().frames, prediction.position - window_begin + 1);
  if (shared.size() < before.size()) {
    shared.push_back(std::move(prediction));
    if (shared.size() == before.size()) align_shared(sink);
    return;
  }
  if (!windowed()) return give(std::move(prediction), sink);
  // The first window's poses are encoded anew like the others'.
  apply(transform, prediction);
  if (!may_be_shared(prediction.position)) return give(std::move(prediction), sink);
  held.push_back(std::move(prediction));
  give_held(sizes.overlap, sink);
}

// The next window begins with the last pictures of this one.
void StreamSession::State::end_window(const Sink& sink) {
  flush_in_flight(sink);  // belongs to this window
  // By motion a window may be short: its scale frames are not seen again.
  const std::int64_t overlap =
      by_motion() ? std::min(sizes.overlap, taken - options.num_scale_frames) : sizes.overlap;
  give_held(overlap, sink);
  before = std::move(held);
  held.clear();
  ++window_number;
  window_begin += taken - overlap;
  taken = overlap;
  full = false;
  window.reset();
  queue.assign(recent.end() - overlap, recent.end());
}

void StreamSession::State::note_taken(const PictureView& rgb) {
  ++taken;
  if (!windowed()) return;
  recent.push_back(copied(rgb));
  if (std::ssize(recent) > sizes.overlap) recent.pop_front();
  // By motion a window is full when it has kept so many frames.
  full = (by_motion() ? window->memory().kept() : taken) == sizes.frames;
}

StreamSession::StreamSession(std::shared_ptr<const Gct> network, const StreamOptions& options,
                             std::int64_t frames)
    : state_(std::make_unique<State>(std::move(network), options, frames)) {}

StreamSession::~StreamSession() = default;

void StreamSession::push(const PictureView& rgb, const Sink& sink) {
  State& state = *state_;
  if (state.width == 0) {
    state.width = rgb.width;
    state.height = rgb.height;
  }
  if (rgb.width != state.width || rgb.height != state.height) {
    throw Error(Reason::bad_option, fmt::format("a frame of {} x {} px in a stream of {} x {}",
                                                rgb.width, rgb.height, state.width, state.height));
  }
  if (state.full) state.end_window(sink);
  state.queue.push_back(copied(rgb));
  try {
    state.drain(false, sink);
  } catch (const OutOfDeviceMemory&) {
    // The caller has the picture still; what comes before it stays to be computed.
    state.queue.pop_back();
    throw;
  }
  state.note_taken(rgb);
}

void StreamSession::finish(const Sink& sink) {
  State& state = *state_;
  state.drain(true, sink);
  state.flush_in_flight(sink);
  state.give_held(0, sink);
}

void StreamSession::prefill(std::int64_t kept_frames, int width, int height) {
  State& state = *state_;
  if (state.window || kept_frames < state.options.num_scale_frames) {
    throw Error(Reason::bad_option,
                fmt::format("a stream is filled before its first frame, with at least its {} scale "
                            "frames",
                            state.options.num_scale_frames));
  }
  state.width = width;
  state.height = height;
  state.begin_window();
  state.window->prefill(kept_frames);
}

StreamFigures StreamSession::figures() const {
  StreamFigures figures;
  figures.frames = state_->predicted;
  figures.windows = state_->alignments;
  if (!state_->window) return figures;
  const StreamMemoryFigures memory = state_->window->memory().figures();
  figures.kept = memory.kept;
  figures.whole_frames = memory.whole;
  figures.tail_frames = memory.tail;
  figures.camera_tokens = memory.camera_tokens;
  figures.cache_bytes = memory.bytes;
  return figures;
}

bool StreamSession::at_window_end() const { return state_->full; }

int StreamSession::keyframe_interval() const { return state_->interval; }

}  // namespace skyfix
