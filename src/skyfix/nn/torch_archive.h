// PyTorch's archives: a zip whose data.pkl names tensors that lie in its members data/KEY.
#pragma once

#include <string>

#include "skyfix/nn/tensor_file.h"
#include "skyfix/nn/tensor_table.h"
#include "skyfix/nn/zip_archive.h"

namespace skyfix {

// "archive/" when the zip has exactly one member of the name PREFIX/data.pkl; else empty.
std::string torch_archive_prefix(const ZipArchive& archive);

// The dictionary of tensors in it: that under "model" or "state_dict", or the whole. Tensors that
// lie as they are in stored members are not copied, so the archive's bytes must outlive the result;
// the archive itself need not. "args.model", where it is a text, goes into the metadata.
//
// Throws Error(bad_weights) naming what is refused: an object of a class that is not a tensor,
// unless under a key that is not needed ("optimizer", ...); a tensor that does not fit its storage.
TensorTable read_torch_archive(ZipArchive& archive, const std::string& file,
                               const TensorFileLimits& limits);

}  // namespace skyfix
