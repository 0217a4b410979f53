// Named tensors, wherever they come from: a file (tensor_file.h) or a formula
// (synthetic_weights.h). Models ask for their tensors by name and shape (weight_reader_torch.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix {

enum class ElementType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };
std::string_view element_type_name(ElementType type);  // as safetensors writes it: "F32"
std::int64_t element_bytes(ElementType type);

// Little-endian, row-major, contiguous.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;  // empty = a scalar
  std::span<const std::byte> bytes;

  std::int64_t elements() const;
};

// "[3, 16, 16]"
std::string shape_text(std::span<const std::int64_t> shape);

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  // For errors: the file's path, or "synthetic weights".
  virtual std::string description() const = 0;
  // True when tensors are made from name and shape: find() knows none, names() is empty.
  virtual bool synthetic() const { return false; }
  // Null when there is none of that name. Lives as long as the source.
  virtual const StoredTensor* find(std::string_view name) const = 0;
  virtual std::vector<std::string> names() const = 0;  // sorted
  // What the file says of itself: safetensors' __metadata__; for a PyTorch archive its "args.model"
  // text under that key, where there is one.
  virtual const std::map<std::string, std::string>& metadata() const = 0;
  // SHA-256 of what was read, hex; part of cache keys and records. "synthetic" for a formula.
  virtual std::string hash() const = 0;
};

// SHA-256 of the file that the weights were published in: what an imported file says it was made
// of, else hash(). Equal for a file and its import.
std::string weights_identity(const TensorSource& source);

// A view of another source under other names: what find("a") gives is the other's
// rename.at("a") where that exists. Several names may lead to one tensor (aliases); names() lists
// the new names. The source is kept alive.
std::shared_ptr<const TensorSource> rename_tensors(std::shared_ptr<const TensorSource> source,
                                                   std::map<std::string, std::string> new_to_old);

// The tensors under a prefix, with the prefix taken off; metadata and hash are the source's.
std::shared_ptr<const TensorSource> tensors_under(std::shared_ptr<const TensorSource> source,
                                                  std::string prefix);

}  // namespace skyfix
