// A session on the disk: tensors as safetensors, everything else as JSON in its metadata.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "skyfix/base/error.h"
#include "skyfix/base/hash.h"
#include "skyfix/memory/torch_errors.h"
#include "skyfix/nn/element_torch.h"
#include "skyfix/nn/tensor_file.h"
#include "skyfix/stream/session_state_torch.h"

namespace skyfix {
namespace {

using Json = nlohmann::json;
constexpr const char* kSchema = "skyfix-stream-checkpoint-2";

ElementType type_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return ElementType::f32;
    case at::kHalf:
      return ElementType::f16;
    case at::kBFloat16:
      return ElementType::bf16;
    default:
      return ElementType::u8;
  }
}

// Tensors to be written; they live as long as this.
class Tensors {
 public:
  void add(const std::string& name, at::Tensor tensor) {
    tensors_.push_back({name, std::move(tensor)});
  }
  void add(const std::string& name, const std::vector<float>& values) {
    add(name, at::tensor(values));
  }
  void add(const std::string& name, const BytePicture& picture) {
    at::Tensor tensor = at::empty({picture.height, picture.width, picture.channels}, at::kByte);
    std::copy(picture.pixels.begin(), picture.pixels.end(), tensor.data_ptr<std::uint8_t>());
    add(name, std::move(tensor));
  }
  std::vector<StoredTensor> stored() const {
    std::vector<StoredTensor> all;
    for (const auto& [name, tensor] : tensors_) {
      all.push_back({name,
                     type_of(tensor.scalar_type()),
                     tensor.sizes().vec(),
                     {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}});
    }
    return all;
  }

 private:
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
};

// A copy of what the file has under that name.
at::Tensor read(const TensorSource& source, const std::string& name) {
  const StoredTensor* stored = source.find(name);
  if (stored == nullptr) throw Error(Reason::bad_run, "the checkpoint lacks " + name);
  at::Tensor tensor = nn::copy_of(*stored);
  if (type_of(tensor.scalar_type()) != stored->type) {
    throw Error(Reason::bad_run, "the checkpoint's " + name + " is of another type");
  }
  return tensor;
}

std::vector<float> read_values(const TensorSource& source, const std::string& name) {
  const at::Tensor tensor = read(source, name).to(at::kFloat);
  return {tensor.const_data_ptr<float>(), tensor.const_data_ptr<float>() + tensor.numel()};
}

BytePicture read_picture(const TensorSource& source, const std::string& name, int width,
                         int height) {
  const at::Tensor tensor = read(source, name);
  if (tensor.scalar_type() != at::kByte || tensor.numel() != std::int64_t{width} * height * 3) {
    throw Error(Reason::bad_run, "the checkpoint's " + name + " is no picture of the stream");
  }
  const auto* first = tensor.const_data_ptr<std::uint8_t>();
  return {{first, first + tensor.numel()}, width, height, 3};
}

// Over names, types, shapes and values of all tensors, and the text beside them.
std::string digest_of(std::vector<StoredTensor> tensors, const std::string& text) {
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::string all = sha256_hex(text);
  for (const StoredTensor& tensor : tensors) {
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes.data()),
                                 tensor.bytes.size());
    all += fmt::format("\n{} {} {} {}", tensor.name, element_type_name(tensor.type),
                       shape_text(tensor.shape), sha256_hex(bytes));
  }
  return sha256_hex(all);
}

void require_intact(const TensorSource& source, const std::string& text,
                    const std::filesystem::path& file) {
  std::vector<StoredTensor> tensors;
  for (const std::string& name : source.names()) tensors.push_back(*source.find(name));
  const auto digest = source.metadata().find("sha256");
  if (digest != source.metadata().end() && digest->second == digest_of(tensors, text)) return;
  throw Error(Reason::bad_run, "the checkpoint is damaged: its bytes have changed", file);
}

Json json_of(const StreamPrediction& prediction) {
  return {{"position", prediction.position},   {"role", static_cast<int>(prediction.role)},
          {"window", prediction.window},       {"pose", prediction.pose},
          {"width", prediction.width},         {"height", prediction.height},
          {"keys_seen", prediction.keys_seen}, {"points", !prediction.points.empty()}};
}

void add_predictions(const std::string& list, const std::vector<StreamPrediction>& predictions,
                     Tensors& tensors, Json& json) {
  json[list] = Json::array();
  for (const StreamPrediction& prediction : predictions) {
    const std::string name = fmt::format("{}.{}.", list, json[list].size());
    tensors.add(name + "depth", prediction.depth);
    tensors.add(name + "confidence", prediction.confidence);
    if (!prediction.points.empty()) {
      tensors.add(name + "points", prediction.points);
      tensors.add(name + "points_confidence", prediction.points_confidence);
    }
    json[list].push_back(json_of(prediction));
  }
}

std::vector<StreamPrediction> read_predictions(const std::string& list, const TensorSource& source,
                                               const Json& json) {
  std::vector<StreamPrediction> predictions;
  for (const Json& each : json.at(list)) {
    const std::string name = fmt::format("{}.{}.", list, predictions.size());
    StreamPrediction prediction;
    prediction.position = each.at("position");
    prediction.role = static_cast<FrameRole>(each.at("role").get<int>());
    prediction.window = each.at("window");
    prediction.pose = each.at("pose");
    prediction.width = each.at("width");
    prediction.height = each.at("height");
    prediction.keys_seen = each.at("keys_seen");
    prediction.depth = read_values(source, name + "depth");
    prediction.confidence = read_values(source, name + "confidence");
    if (each.at("points").get<bool>()) {
      prediction.points = read_values(source, name + "points");
      prediction.points_confidence = read_values(source, name + "points_confidence");
    }
    predictions.push_back(std::move(prediction));
  }
  return predictions;
}

Json json_of(const WindowAlignment& alignment) {
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  return {{"window", alignment.window},
          {"first_frame", alignment.first_frame},
          {"frames", alignment.frames},
          {"anchor_frame", alignment.anchor_frame},
          {"scale", alignment.scale},
          {"world_from_window", alignment.world_from_window},
          {"depth_samples", alignment.depth_samples},
          {"centre_residual", or_null(alignment.centre_residual)},
          {"depth_residual", or_null(alignment.depth_residual)}};
}

WindowAlignment alignment_of(const Json& json) {
  WindowAlignment alignment;
  alignment.window = json.at("window");
  alignment.first_frame = json.at("first_frame");
  alignment.frames = json.at("frames");
  alignment.anchor_frame = json.at("anchor_frame");
  alignment.scale = json.at("scale");
  alignment.world_from_window = json.at("world_from_window");
  alignment.depth_samples = json.at("depth_samples");
  const auto optional = [&](const char* key) {
    return json.at(key).is_null() ? std::optional<double>() : json.at(key).get<double>();
  };
  alignment.centre_residual = optional("centre_residual");
  alignment.depth_residual = optional("depth_residual");
  return alignment;
}

// What a session must have in common with a checkpoint to go on with it.
Json identity_of(const Gct& network, const StreamOptions& options, std::int64_t known_frames) {
  const GctOptions& how = network.options();
  return {{"schema", kSchema},
          {"weights", network.weights_hash()},
          {"device", static_cast<int>(how.placement.device)},
          {"precision", static_cast<int>(how.placement.precision)},
          {"head_precision", static_cast<int>(how.heads)},
          {"camera_iterations", how.camera_iterations},
          {"camera_rotation", how.camera_rotation},
          {"network_width", network.config().width},
          {"point_head", how.point_head},
          {"mode", static_cast<int>(options.mode)},
          {"num_scale_frames", options.num_scale_frames},
          {"reserved", options.reserved()},
          {"window", options.window},
          {"keyframe_interval", options.keyframe_interval},
          {"motion_px", options.motion_px},
          {"max_non_keyframe_gap", options.max_non_keyframe_gap},
          {"window_frames", options.window_frames},
          {"overlap_keyframes", options.overlap_keyframes.value_or(-1)},
          {"overlap_frames", options.overlap_frames.value_or(-1)},
          {"specials_of_evicted", options.specials_of_evicted},
          {"known_frames", known_frames}};
}

void require_same(const Json& recorded, const Json& now, const std::filesystem::path& file) {
  for (const auto& [key, value] : now.items()) {
    if (recorded.contains(key) && recorded.at(key) == value) continue;
    throw Error(
        Reason::run_mismatch,
        fmt::format("the checkpoint was made with another {}: {} instead of {}", key,
                    recorded.contains(key) ? recorded.at(key).dump() : "none", value.dump()),
        file);
  }
}

}  // namespace

void StreamSession::save(const std::filesystem::path& file) const {
  State& state = *state_;
  if (state.in_flight) {
    state.arrived = state.in_flight->take();
    state.in_flight.reset();
  }
  Tensors tensors;
  Json json{{"identity", identity_of(*state.network, state.options, state.known_frames)},
            {"width", state.width},
            {"height", state.height},
            {"window_number", state.window_number},
            {"window_begin", state.window_begin},
            {"taken", state.taken},
            {"full", state.full},
            {"predicted", state.predicted},
            {"queue", state.queue.size()},
            {"recent", state.recent.size()}};
  for (std::size_t i = 0; i < state.queue.size(); ++i) {
    tensors.add(fmt::format("queue.{}", i), state.queue[i]);
  }
  for (std::size_t i = 0; i < state.recent.size(); ++i) {
    tensors.add(fmt::format("recent.{}", i), state.recent[i]);
  }
  add_predictions("arrived", state.arrived, tensors, json);
  add_predictions("before", state.before, tensors, json);
  add_predictions("shared", state.shared, tensors, json);
  add_predictions("held", state.held, tensors, json);
  json["alignments"] = Json::array();
  for (const WindowAlignment& each : state.alignments) json["alignments"].push_back(json_of(each));
  std::array<double, 13> transform{state.transform.scale};
  std::copy_n(state.transform.rotation.data(), 9, transform.begin() + 1);
  std::copy_n(state.transform.translation.data(), 3, transform.begin() + 10);
  json["transform"] = transform;
  if (state.window && !at_window_end()) {
    const StreamWindow::Progress progress = state.window->progress();
    const StreamMemoryFigures memory = state.window->memory().figures();
    json["progress"] = {{"frames", progress.frames},
                        {"scale_frames", progress.scale_frames},
                        {"kept", memory.kept},
                        {"camera_tokens", memory.camera_tokens}};
    if (progress.last_keyframe) {
      json["progress"]["last_pose"] = progress.last_keyframe->pose;
      json["progress"]["last_frame"] = progress.last_keyframe->frame;
    }
    const auto remembered = with_torch_errors(0, [&] { return state.window->memory().state(); });
    for (const auto& [name, tensor] : remembered) tensors.add("memory." + name, tensor);
  }
  const std::string text = json.dump();
  write_safetensors(file, tensors.stored(),
                    {{"checkpoint", text}, {"sha256", digest_of(tensors.stored(), text)}});
}

namespace {

StreamMemory::Tensors memory_tensors(const TensorSource& source) {
  constexpr std::string_view kPrefix = "memory.";
  StreamMemory::Tensors tensors;
  for (const std::string& name : source.names()) {
    if (!name.starts_with(kPrefix)) continue;
    tensors[name.substr(kPrefix.size())] = read(source, name);
  }
  return tensors;
}

}  // namespace

void StreamSession::State::restore(const TensorSource& source, const nlohmann::json& json) {
  width = json.at("width");
  height = json.at("height");
  window_number = json.at("window_number");
  window_begin = json.at("window_begin");
  taken = json.at("taken");
  full = json.at("full");
  predicted = json.at("predicted");
  for (std::size_t i = 0; i < json.at("queue").get<std::size_t>(); ++i) {
    queue.push_back(read_picture(source, fmt::format("queue.{}", i), width, height));
  }
  for (std::size_t i = 0; i < json.at("recent").get<std::size_t>(); ++i) {
    recent.push_back(read_picture(source, fmt::format("recent.{}", i), width, height));
  }
  if (json.contains("progress")) {
    const Json& progress = json.at("progress");
    begin_window();
    StreamWindow::Progress done{progress.at("frames"), progress.at("scale_frames"), {}};
    if (progress.contains("last_pose")) {
      done.last_keyframe = {progress.at("last_pose").get<std::array<double, 9>>(),
                            progress.at("last_frame").get<std::int64_t>()};
    }
    window->restore(done, memory_tensors(source), progress.at("kept"),
                    progress.at("camera_tokens"));
  }
  arrived = read_predictions("arrived", source, json);
  before = read_predictions("before", source, json);
  shared = read_predictions("shared", source, json);
  held = read_predictions("held", source, json);
  alignments.clear();
  for (const Json& each : json.at("alignments")) alignments.push_back(alignment_of(each));
  const auto stored = json.at("transform").get<std::array<double, 13>>();
  transform.scale = stored[0];
  std::copy_n(stored.begin() + 1, 9, transform.rotation.data());
  std::copy_n(stored.begin() + 10, 3, transform.translation.data());
}

void StreamSession::restore(const std::filesystem::path& file) {
  const State& old = *state_;
  auto state = std::make_unique<State>(old.network, old.options, old.known_frames);
  try {
    const auto source = open_tensor_file(file);
    const auto found = source->metadata().find("checkpoint");
    if (found == source->metadata().end()) {
      throw Error(Reason::bad_run, "this is no checkpoint of a stream", file);
    }
    require_intact(*source, found->second, file);
    const Json json = Json::parse(found->second);
    require_same(json.at("identity"),
                 identity_of(*state->network, state->options, state->known_frames), file);
    state->restore(*source, json);
  } catch (const nlohmann::json::exception& error) {
    throw Error(Reason::bad_run, fmt::format("the checkpoint is damaged: {}", error.what()), file);
  } catch (const Error& error) {
    if (error.reason() != Reason::bad_weights) throw;
    throw Error(Reason::bad_run, fmt::format("the checkpoint is damaged: {}", error.what()), file);
  }
  state_ = std::move(state);
}

}  // namespace skyfix
