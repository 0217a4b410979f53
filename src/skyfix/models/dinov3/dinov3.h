// DINOv3 vision transformers: what each patch of 16 x 16 px shows, as a vector. Place recognition
// aggregates the vectors of a picture (retrieval/dinov3_descriptor.h). Specification: dinov3.md.
//
// The weights are under the DINOv3 License: commercial use is allowed, military use is not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skyfix/memory/bounded_cache.h"
#include "skyfix/models/dinov3/dinov3_config.h"
#include "skyfix/nn/picture_view.h"
#include "skyfix/nn/placement.h"
#include "skyfix/nn/tensor_source.h"

namespace skyfix {

// What is taken from a block: its output after the final norm, or a third of the product that its
// attention starts from (before the rotary code, heads joined).
enum class DinoV3Facet { token, query, key, value };
std::string_view dinov3_facet_name(DinoV3Facet facet);
std::optional<DinoV3Facet> dinov3_facet(std::string_view name);

// Mean and deviation of the colours a model was trained on.
enum class DinoV3Colours { web, satellite };  // LVD-1689M, SAT-493M
std::string_view dinov3_colours_name(DinoV3Colours colours);
std::optional<DinoV3Colours> dinov3_colours(std::string_view name);

// How many patches a picture is cut into: scaled (never up) to the long side, both sides to the
// nearest multiple of the patch, at least one.
struct PatchGrid {
  int rows = 0;
  int columns = 0;
  bool operator==(const PatchGrid&) const = default;
};
PatchGrid dinov3_grid(int width_px, int height_px, int long_side_px, int patch_px = 16);

struct PatchVectors {
  PatchGrid grid;
  int dimension = 0;
  std::vector<float> values;  // [rows * columns, dimension], row-major, unit length
};

struct DinoV3Options {
  // Sizes that the file must have, and what shapes do not tell; without, dinov3_config_of decides.
  std::optional<DinoV3Config> config = {};
  // Without: satellite where the file's metadata name a model that ends in "-sat", or where it
  // carries local_cls_norm, as the published satellite weights in the official layout do; else web.
  // (The Hugging Face layout does not tell.)
  std::optional<DinoV3Colours> colours = {};
};

// Thread-safe.
class DinoV3 {
 public:
  // Official and Hugging Face names. The source is not kept. Throws Error(bad_weights) listing what
  // does not fit, Error(no_gpu), OutOfDeviceMemory, DeviceFailure.
  DinoV3(std::shared_ptr<const TensorSource> weights, const NetworkPlacement& placement,
         const DinoV3Options& options = {});
  ~DinoV3();

  const DinoV3Config& config() const;
  DinoV3Colours colours() const;
  // As known_models() names it: "dinov3-vitl16", "dinov3-vitl16-sat".
  std::string model() const;
  // Of the source; of the file it was imported from, where its metadata say so: both hold the same
  // values.
  const std::string& weights_hash() const;
  const NetworkPlacement& placement() const;

  // Patches of one picture; class and storage tokens are dropped, blocks behind `layer` (from 0)
  // are not computed. Grey pictures are taken as colourless ones. Throws Error(bad_option) for a
  // layer that the model does not have, OutOfDeviceMemory, DeviceFailure.
  PatchVectors patches(const PictureView& picture, int layer, DinoV3Facet facet,
                       int long_side_px) const;

  // On a GPU: pictures of a shape that comes again are described by a recorded graph
  // (nn/graph_torch.h). To be released when memory is short; `use_graphs` for comparisons.
  ReleasableCache& graphs() const;
  void use_graphs(bool wanted) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace skyfix
