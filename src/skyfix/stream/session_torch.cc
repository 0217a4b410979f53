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
      .most_frames = windowed() ? sizes.frames : known_frames,
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

void StreamSession::State::deliver(StreamPrediction&& prediction, const Sink& sink) {
  alignments.back().frames = prediction.position - window_begin + 1;
  if (shared.size() < before.size()) {
    shared.push_back(std::move(prediction));
    if (shared.size() < before.size()) return;
    const WindowAlignment made = align_window(before, shared, transform);
    WindowAlignment& alignment = alignments.back();
    const auto [number, first, frames] =
        std::tuple(alignment.window, alignment.first_frame, alignment.frames);
    alignment = made;
    alignment.window = number;
    alignment.first_frame = first;
    alignment.frames = frames;
    before.clear();
    std::vector<StreamPrediction> aligned = std::move(shared);
    shared.clear();
    for (StreamPrediction& each : aligned) deliver(std::move(each), sink);
    return;
  }
  // The first window's poses are encoded anew like the others'.
  if (windowed()) apply(transform, prediction);
  if (windowed() && prediction.position - window_begin >= final_before()) {
    held.push_back(std::move(prediction));
    return;
  }
  ++predicted;
  sink(std::move(prediction));
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
  if (at_window_end()) {
    // What is in flight belongs to the window that ends.
    state.flush_in_flight(sink);
    state.before = std::move(state.held);
    state.held.clear();
    ++state.window_number;
    state.window_begin += state.sizes.step();
    state.taken = state.sizes.overlap;
    state.window.reset();
    state.queue.assign(state.recent.begin(), state.recent.end());
  }
  state.queue.push_back(copied(rgb));
  try {
    state.drain(false, sink);
  } catch (const OutOfDeviceMemory&) {
    // The caller has the picture still; what comes before it stays to be computed.
    state.queue.pop_back();
    throw;
  }
  ++state.taken;
  if (state.windowed() && state.sizes.overlap > 0) {
    state.recent.push_back(copied(rgb));
    if (std::ssize(state.recent) > state.sizes.overlap) state.recent.pop_front();
  }
}

void StreamSession::finish(const Sink& sink) {
  State& state = *state_;
  state.drain(true, sink);
  state.flush_in_flight(sink);
  for (StreamPrediction& prediction : state.held) {
    ++state.predicted;
    sink(std::move(prediction));
  }
  state.held.clear();
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

bool StreamSession::at_window_end() const {
  return state_->windowed() && state_->taken == state_->sizes.frames;
}

int StreamSession::keyframe_interval() const { return state_->interval; }

}  // namespace skyfix
