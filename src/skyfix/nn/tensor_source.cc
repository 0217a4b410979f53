#include "skyfix/nn/tensor_source.h"

#include <algorithm>
#include <utility>

namespace skyfix {
namespace {

struct TypeFacts {
  ElementType type;
  std::string_view name;
  std::int64_t bytes;
};
constexpr TypeFacts kTypes[] = {
    {ElementType::f64, "F64", 8},      {ElementType::f32, "F32", 4}, {ElementType::f16, "F16", 2},
    {ElementType::bf16, "BF16", 2},    {ElementType::i64, "I64", 8}, {ElementType::i32, "I32", 4},
    {ElementType::i16, "I16", 2},      {ElementType::i8, "I8", 1},   {ElementType::u8, "U8", 1},
    {ElementType::boolean, "BOOL", 1},
};

const TypeFacts& facts_of(ElementType type) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](const TypeFacts& facts) { return facts.type == type; });
}

// Another source's tensors under other names.
class RenamedTensors : public TensorSource {
 public:
  RenamedTensors(std::shared_ptr<const TensorSource> source,
                 const std::map<std::string, std::string>& new_to_old)
      : source_(std::move(source)) {
    for (const auto& [name, old] : new_to_old) {
      const StoredTensor* tensor = source_->find(old);
      if (tensor == nullptr) continue;
      StoredTensor& renamed = tensors_[name];
      renamed = *tensor;
      renamed.name = name;
    }
  }
  std::string description() const override { return source_->description(); }
  bool synthetic() const override { return source_->synthetic(); }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  const std::map<std::string, std::string>& metadata() const override {
    return source_->metadata();
  }
  std::string hash() const override { return source_->hash(); }

 private:
  std::shared_ptr<const TensorSource> source_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

}  // namespace

std::string_view element_type_name(ElementType type) { return facts_of(type).name; }
std::int64_t element_bytes(ElementType type) { return facts_of(type).bytes; }

std::int64_t StoredTensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t size : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

std::string weights_identity(const TensorSource& source) {
  const auto imported = source.metadata().find("source_sha256");
  const bool known = imported != source.metadata().end() && !imported->second.empty();
  return known ? imported->second : source.hash();
}

std::shared_ptr<const TensorSource> rename_tensors(std::shared_ptr<const TensorSource> source,
                                                   std::map<std::string, std::string> new_to_old) {
  return std::make_shared<RenamedTensors>(std::move(source), new_to_old);
}

std::shared_ptr<const TensorSource> tensors_under(std::shared_ptr<const TensorSource> source,
                                                  std::string prefix) {
  if (source->synthetic()) return source;
  std::map<std::string, std::string> new_to_old;
  for (const std::string& name : source->names()) {
    if (name.starts_with(prefix)) new_to_old[name.substr(prefix.size())] = name;
  }
  return std::make_shared<RenamedTensors>(std::move(source), new_to_old);
}

}  // namespace skyfix
