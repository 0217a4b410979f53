// The options of a reconstruction: the stream, its network, and what is written.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "skyfix/models/gct/gct.h"
#include "skyfix/report/json_fields.h"
#include "skyfix/stream/reconstructor.h"

namespace skyfix::cli {

struct StreamArguments {
  ReconstructOptions options;
  std::string mode = "streaming";
  std::string window = "auto";
  std::string keyframe_interval = "auto";
  std::string fit = "crop";
  int overlap_keyframes = -1;  // -1 = not given
  int overlap_frames = -1;
  std::string mask_folder;
  bool compile = false;

  // Throws Error(bad_option) naming the option. `window` is what the plan chose for auto.
  ReconstructOptions parsed(int window) const;
  // As given; nullopt for auto.
  std::optional<std::int64_t> given_window() const;
};

// `arguments` must outlive the parsing. The reference tools' names of the flags are taken too.
void add_stream_options(CLI::App& app, StreamArguments& arguments);

// For the manifest: everything of these that results depend on.
Json stream_configuration(const ReconstructOptions& options);

struct GctArguments {
  std::string weights;  // FILE, synthetic, synthetic:tiny; empty = looked for
  std::string weights_dir;
  std::string precision = "auto";
  std::string head_precision = "auto";
  int camera_iterations = 4;
  bool point_head = false;

  // Throws Error(bad_option) naming the option.
  GctOptions parsed(DeviceKind device) const;
};
void add_gct_options(CLI::App& app, GctArguments& arguments);

// Weights that are not loaded yet, and the sizes they have.
struct GctWeights {
  std::shared_ptr<const TensorSource> source;
  GctConfig config;
};
// Throws Error(missing_weights | bad_weights).
GctWeights open_gct_weights(const GctArguments& arguments);

}  // namespace skyfix::cli
