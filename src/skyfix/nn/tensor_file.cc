#include "skyfix/nn/tensor_file.h"

#include <mutex>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/base/text.h"
#include "skyfix/nn/byte_cursor.h"
#include "skyfix/nn/safetensors.h"
#include "skyfix/nn/torch_archive.h"
#include "skyfix/nn/zip_archive.h"

namespace skyfix {
namespace {

class FileTensors : public TensorSource {
 public:
  FileTensors(TensorTable table, std::span<const std::byte> bytes, std::string description)
      : table_(std::move(table)), bytes_(bytes), description_(std::move(description)) {}

  std::string description() const override { return description_; }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = table_.tensors.find(name);
    return found == table_.tensors.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : table_.tensors) names.push_back(name);
    return names;
  }
  const std::map<std::string, std::string>& metadata() const override { return table_.metadata; }
  // Reads the whole file: only when asked, and once.
  std::string hash() const override {
    std::call_once(hashed_, [this] { hash_ = sha256_hex(text_of(bytes_)); });
    return hash_;
  }
  // What the bytes lie in, where it is not the caller's.
  void keep(MappedFile file) { file_ = std::move(file); }
  void keep(const std::vector<std::shared_ptr<const std::byte[]>>& unpacked) {
    table_.owned.insert(table_.owned.end(), unpacked.begin(), unpacked.end());
  }

 private:
  MappedFile file_;
  TensorTable table_;
  std::span<const std::byte> bytes_;
  std::string description_;
  mutable std::once_flag hashed_;
  mutable std::string hash_;
};

[[noreturn]] void refuse_unknown(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text = text_of(bytes);
  std::string problem = "this is neither a safetensors nor a PyTorch file";
  if (text.empty()) {
    problem = "this file is empty: get the weights again";
  } else if (text.starts_with("\x80\x02")) {
    problem =
        "this PyTorch file has the format from before version 1.6: load it there and save it "
        "again, or get safetensors";
  } else if (text.starts_with("version https://git-lfs")) {
    problem = "this is a pointer to the file, not the file: get it with git lfs pull";
  } else if (trim(text.substr(0, 256)).starts_with("<")) {
    problem = "this is a web page, not a weights file: the download asked for a login";
  }
  throw Error(Reason::bad_weights, problem, file);
}

// What a zip carries that could be weights, by its name's ending.
std::vector<std::string> weights_in(const ZipArchive& archive) {
  std::vector<std::string> names;
  for (const auto& [name, member] : archive.members()) {
    for (const char* ending : {".safetensors", ".pt", ".pth"}) {
      if (name.ends_with(ending)) names.push_back(name);
    }
  }
  return names;
}

// The member asked for, or the only one there is.
std::string chosen_member(const ZipArchive& archive, const std::string& member,
                          const std::string& file) {
  if (!member.empty() && archive.find(member) != nullptr) return member;
  const std::vector<std::string> candidates = weights_in(archive);
  if (member.empty() && candidates.size() == 1) return candidates.front();
  std::string problem = member.empty()
                            ? "it holds several files of weights: name the model that is meant"
                            : "it does not hold " + shown_name(member);
  if (candidates.empty()) problem = "it is a zip archive without weights";
  std::string list;
  for (std::size_t i = 0; i < std::min<std::size_t>(candidates.size(), 20); ++i) {
    list += (i == 0 ? ". It holds " : ", ") + shown_name(candidates[i]);
  }
  throw Error(Reason::bad_weights, problem + list, file);
}

std::shared_ptr<FileTensors> open_plain(std::span<const std::byte> bytes,
                                        const std::string& description,
                                        const TensorFileLimits& limits) {
  if (ZipArchive::looks_like_zip(bytes)) {
    ZipArchive archive(bytes, description, limits.inflated_bytes);
    if (torch_archive_prefix(archive).empty()) {
      throw Error(Reason::bad_weights, "an archive inside an archive is not searched for weights",
                  description);
    }
    return std::make_shared<FileTensors>(read_torch_archive(archive, description, limits), bytes,
                                         description);
  }
  if (!looks_like_safetensors(bytes)) refuse_unknown(bytes, description);
  return std::make_shared<FileTensors>(read_safetensors(bytes, description, limits), bytes,
                                       description);
}

std::shared_ptr<FileTensors> open_bytes(std::span<const std::byte> bytes,
                                        const std::string& description, const std::string& member,
                                        const TensorFileLimits& limits) {
  if (!ZipArchive::looks_like_zip(bytes)) return open_plain(bytes, description, limits);
  ZipArchive archive(bytes, description, limits.inflated_bytes);
  if (!torch_archive_prefix(archive).empty()) return open_plain(bytes, description, limits);
  const std::string name = chosen_member(archive, member, description);
  const auto carried =
      open_plain(archive.content(name), description + " (" + shown_name(name) + ")", limits);
  carried->keep(archive.owned());
  return carried;
}

}  // namespace

std::shared_ptr<const TensorSource> open_tensor_file(const std::filesystem::path& file,
                                                     const std::string& member,
                                                     const TensorFileLimits& limits) {
  MappedFile mapped(file);
  const auto source = open_bytes(mapped.bytes(), file.string(), member, limits);
  source->keep(std::move(mapped));
  return source;
}

std::shared_ptr<const TensorSource> open_tensor_bytes(std::span<const std::byte> bytes,
                                                      const std::string& description,
                                                      const std::string& member,
                                                      const TensorFileLimits& limits) {
  return open_bytes(bytes, description, member, limits);
}

}  // namespace skyfix
