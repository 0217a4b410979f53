#include "skyfix/cli/stream_arguments.h"

#include <spdlog/fmt/fmt.h>

#include <filesystem>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"
#include "skyfix/models/weights.h"
#include "skyfix/nn/synthetic_weights.h"

namespace skyfix::cli {
namespace {

std::optional<std::int64_t> count_or_auto(const std::string& text, const char* option) {
  if (text == "auto") return std::nullopt;
  const auto value = parse_integer(text);
  if (!value || *value < 1 || *value > 1'000'000) {
    throw Error(Reason::bad_option,
                fmt::format("{} is '{}'; allowed is auto, or a whole number from 1", option, text));
  }
  return *value;
}

GctFit fit_from_name(const std::string& name) {
  for (const GctFit fit : {GctFit::crop, GctFit::pad}) {
    if (name == gct_fit_name(fit)) return fit;
  }
  throw Error(Reason::bad_option, "--fit is '" + name + "'; allowed is crop or pad");
}

void add_memory_options(CLI::App& app, StreamArguments& arguments) {
  StreamOptions& stream = arguments.options.stream;
  app.add_option("--num-scale-frames,--num_scale_frames", stream.num_scale_frames,
                 "First frames, taken together; they fix the scale and are never forgotten")
      ->capture_default_str();
  app.add_option("--window,--kv_cache_sliding_window", arguments.window,
                 "Frames remembered whole besides those; auto: 64, less where the GPU's memory is "
                 "short")
      ->capture_default_str();
  app.add_option("--keyframe-interval,--keyframe_interval", arguments.keyframe_interval,
                 "Every n-th frame is remembered, the others only look; auto: 1 up to 320 frames, "
                 "then frames / 320, by motion where their number is not known")
      ->capture_default_str();
  app.add_option("--keyframe-motion,--flow_threshold", stream.motion_px,
                 "Remember a frame when its picture has moved so far since the last one, network "
                 "px (mean); 0 = by interval")
      ->capture_default_str();
  app.add_option("--max-keyframe-gap,--max_non_keyframe_gap", stream.max_non_keyframe_gap,
                 "By motion: at the latest after so many frames")
      ->capture_default_str();
}

void add_window_options(CLI::App& app, StreamArguments& arguments) {
  StreamOptions& stream = arguments.options.stream;
  app.add_option("--mode", arguments.mode,
                 "streaming, or windowed: begins anew after every --window-size remembered frames "
                 "and lays each window on the one before")
      ->capture_default_str();
  app.add_option("--window-size,--window_size", stream.window_frames,
                 "Windowed: remembered frames of a window")
      ->capture_default_str();
  app.add_option("--overlap-keyframes,--overlap_keyframes", arguments.overlap_keyframes,
                 "Windowed: remembered frames that neighbours share (default: the scale frames)");
  app.add_option("--overlap-size,--overlap_size", arguments.overlap_frames,
                 "Windowed: the same in frames");
}

}  // namespace

std::optional<std::int64_t> StreamArguments::given_window() const {
  return count_or_auto(window, "--window");
}

ReconstructOptions StreamArguments::parsed(int chosen_window) const {
  ReconstructOptions parsed = options;
  parsed.stream.mode = stream_mode_from_name(mode);
  parsed.stream.window = chosen_window;
  parsed.stream.keyframe_interval =
      static_cast<int>(count_or_auto(keyframe_interval, "--keyframe-interval").value_or(0));
  if (overlap_keyframes >= 0) parsed.stream.overlap_keyframes = overlap_keyframes;
  if (overlap_frames >= 0) parsed.stream.overlap_frames = overlap_frames;
  parsed.fit = fit_from_name(fit);
  parsed.sky.mask_folder = mask_folder;
  parsed.validate();
  return parsed;
}

void add_stream_options(CLI::App& app, StreamArguments& arguments) {
  ReconstructOptions& options = arguments.options;
  add_memory_options(app, arguments);
  add_window_options(app, arguments);
  app.add_option("--image-size,--image_size", options.image_size,
                 "Width that the network sees, px; a multiple of 14")
      ->capture_default_str();
  app.add_option("--fit", arguments.fit,
                 "Of a picture taller than wide: crop (its middle) or pad (all of it, with white)")
      ->capture_default_str();
  app.add_option("--max-megapixels", options.max_megapixels, "Larger pictures are refused")
      ->capture_default_str();
  app.add_flag("--offload-to-cpu,--offload_to_cpu,!--no-offload-to-cpu,!--no-offload_to_cpu",
               options.stream.offload_to_cpu,
               "Results leave the GPU frame by frame while it goes on; same values");
  app.add_option("--mask-dir,--sky_mask_dir", arguments.mask_folder,
                 "Folder of sky masks (PNG, named after the frames; 0 = sky): sky stays out of the "
                 "cloud");
  app.add_flag("--sky-by-confidence", options.sky.by_confidence,
               "Without masks: far and uncertain pixels of the upper half are taken for sky");
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 "Write down the stream's memory every n frames, so that --resume goes on from "
                 "there; 0 = off")
      ->capture_default_str();
  app.add_flag("--compile", arguments.compile,
               "Taken for the reference tools' scripts; nothing here is compiled at first use");
}

Json stream_configuration(const ReconstructOptions& options) {
  const StreamOptions& stream = options.stream;
  const auto given = [](const std::optional<int>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  return {{"mode", std::string(stream_mode_name(stream.mode))},
          {"num_scale_frames", stream.num_scale_frames},
          {"window", stream.window},
          {"keyframe_interval", stream.keyframe_interval},
          {"keyframe_motion_px", stream.motion_px},
          {"max_keyframe_gap", stream.max_non_keyframe_gap},
          {"window_size", stream.window_frames},
          {"overlap_keyframes", given(stream.overlap_keyframes)},
          {"overlap_size", given(stream.overlap_frames)},
          {"image_size", options.image_size},
          {"fit", std::string(gct_fit_name(options.fit))},
          {"max_megapixels", options.max_megapixels},
          {"mask_dir", options.sky.mask_folder.string()},
          {"sky_by_confidence", options.sky.by_confidence}};
}

GctOptions GctArguments::parsed(DeviceKind device) const {
  GctOptions options;
  options.placement.device = device;
  options.placement.precision = precision != "auto" ? precision_from_name(precision, "--precision")
                                : device == DeviceKind::cuda ? Precision::bf16
                                                             : Precision::fp32;
  options.heads = head_precision == "auto"
                      ? Precision::fp32
                      : precision_from_name(head_precision, "--head-precision");
  if (camera_iterations < 1 || camera_iterations > 64) {
    throw Error(Reason::bad_option,
                fmt::format("--camera-iterations is {}; allowed is 1 to 64", camera_iterations));
  }
  options.camera_iterations = camera_iterations;
  options.point_head = point_head;
  return options;
}

void add_gct_options(CLI::App& app, GctArguments& arguments) {
  app.add_option("--weights,--model_path", arguments.weights,
                 "The network's weights: the official lingbot-map checkpoint, a file that skyfix "
                 "models import wrote, or synthetic | synthetic:tiny (random: for trying out). "
                 "Without, they are looked for: skyfix models list");
  app.add_option("--weights-dir", arguments.weights_dir, "Folder to look for weights in first");
  app.add_option("--precision", arguments.precision,
                 "Of the network: fp32, bf16 or fp16; auto: bf16 on a GPU, fp32 on the CPU")
      ->capture_default_str();
  app.add_option("--head-precision", arguments.head_precision,
                 "Of its heads: fp32, bf16 or fp16; auto: fp32")
      ->capture_default_str();
  app.add_option("--camera-iterations,--camera_num_iterations", arguments.camera_iterations,
                 "Rounds of the camera head")
      ->capture_default_str();
  app.add_flag("--point-head", arguments.point_head,
               "Run the head for 3D points too; the weights must have it");
}

GctWeights open_gct_weights(const GctArguments& arguments) {
  if (arguments.weights == "synthetic:tiny") return {make_synthetic_source(), gct_tiny()};
  const bool a_file = std::filesystem::exists(arguments.weights);
  if (!a_file && arguments.weights != "synthetic" && arguments.weights.starts_with("syn")) {
    throw Error(Reason::bad_option,
                "--weights is '" + arguments.weights +
                    "': there is no such file; for random weights say synthetic or synthetic:tiny");
  }
  const KnownModel& model = known_model("gct");
  auto source = open_weights(model, arguments.weights, arguments.weights_dir);
  if (arguments.weights == "synthetic") return {std::move(source), gct_official()};
  GctConfig config = gct_config_of(*source);
  return {std::move(source), config};
}

}  // namespace skyfix::cli
