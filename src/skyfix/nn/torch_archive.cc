#include "skyfix/nn/torch_archive.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "skyfix/base/error.h"
#include "skyfix/nn/byte_cursor.h"
#include "skyfix/nn/pickle.h"

namespace skyfix {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kPickleName = "/data.pkl";
constexpr std::size_t kMostDimensions = 16;
// A tensor takes about twenty values.
constexpr std::uint64_t kValuesPerTensor = 40;
// Of a training checkpoint; whatever lies under them is not looked at.
constexpr std::string_view kIgnoredKeys[] = {"epoch",  "best_so_far",  "optimizer",
                                             "scaler", "lr_scheduler", "scheduler"};

struct StorageType {
  std::string_view name;
  ElementType type;
};
constexpr StorageType kStorageTypes[] = {
    {"torch.FloatStorage", ElementType::f32},     {"torch.HalfStorage", ElementType::f16},
    {"torch.BFloat16Storage", ElementType::bf16}, {"torch.DoubleStorage", ElementType::f64},
    {"torch.LongStorage", ElementType::i64},      {"torch.IntStorage", ElementType::i32},
    {"torch.ShortStorage", ElementType::i16},     {"torch.CharStorage", ElementType::i8},
    {"torch.ByteStorage", ElementType::u8},       {"torch.BoolStorage", ElementType::boolean},
};
constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kNamespace = "argparse.Namespace";

const StorageType* storage_type(const PickleValue& value) {
  const auto* found = std::find_if(std::begin(kStorageTypes), std::end(kStorageTypes),
                                   [&](const StorageType& type) {
                                     return value.kind == Kind::global && type.name == value.text;
                                   });
  return found == std::end(kStorageTypes) ? nullptr : found;
}

bool allowed_object(const PickleValue& value) {
  return value.text == kRebuildTensor || value.text == kRebuildParameter;
}

bool allowed_global(const PickleValue& value) {
  return storage_type(value) != nullptr || allowed_object(value) || value.text == kNamespace ||
         value.text == "collections.OrderedDict";
}

class TorchArchiveReader {
 public:
  TorchArchiveReader(ZipArchive& archive, const std::string& file, const TensorFileLimits& limits)
      : archive_(archive), file_(file), limits_(limits), prefix_(torch_archive_prefix(archive)) {
    for (const auto& [name, member] : archive.members()) copies_left_ += member.size;
  }

  TensorTable read() {
    const std::string pickle_name =
        prefix_.substr(0, prefix_.size() - 1) + std::string(kPickleName);
    check_byte_order();
    if (archive_.find(pickle_name)->size > limits_.pickle_bytes) fail("its pickle is too large");
    const Pickle pickle(archive_.content(pickle_name), file_, limits_.tensors * kValuesPerTensor);
    PickleValue& top = pickle.top();
    refuse_foreign(top);
    if (top.kind != Kind::dictionary) fail("it holds no dictionary of tensors");
    read_arguments(top);
    const PickleValue* tensors = &top;
    for (const char* key : {"model", "state_dict"}) {
      const PickleValue* inner = pickle_entry(top, key);
      if (inner == nullptr || inner->kind != Kind::dictionary) continue;
      tensors = inner;
      break;
    }
    read_tensors(*tensors);
    table_.owned.insert(table_.owned.end(), archive_.owned().begin(), archive_.owned().end());
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Reason::bad_weights, "not a usable PyTorch file: " + problem, file_);
  }

  void check_byte_order() {
    const std::string name = prefix_ + "byteorder";
    if (archive_.find(name) == nullptr) return;
    if (text_of(archive_.content(name)) != "little") fail("its numbers are not little-endian");
  }

  // Looks at every value that is not under an ignored key. Values are shared and may be cyclic;
  // each is looked at once.
  void refuse_foreign(PickleValue& top) const {
    std::vector<PickleValue*> open{&top};
    while (!open.empty()) {
      PickleValue& value = *open.back();
      open.pop_back();
      if (std::exchange(value.seen, true)) continue;
      if (value.kind == Kind::global && !allowed_global(value)) refuse(value.text);
      if (value.kind == Kind::object && value.text == kNamespace) continue;  // its own are ignored
      if (value.kind == Kind::object && !allowed_object(value)) refuse(value.text);
      open.insert(open.end(), value.state.begin(), value.state.end());
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        const bool ignored = &value == &top && value.kind == Kind::dictionary && i % 2 == 1 &&
                             is_ignored(*value.items[i - 1]);
        if (!ignored) open.push_back(value.items[i]);
      }
    }
  }

  static bool is_ignored(const PickleValue& key) {
    return key.kind == Kind::text && std::find(std::begin(kIgnoredKeys), std::end(kIgnoredKeys),
                                               key.text) != std::end(kIgnoredKeys);
  }

  [[noreturn]] void refuse(const std::string& name) const {
    fail("it wants " + shown_name(name) +
         ", which plain tensors do not need; nothing was executed. Use a file that holds only a "
         "state dict");
  }

  void read_arguments(const PickleValue& top) {
    const PickleValue* arguments = pickle_entry(top, "args");
    if (arguments == nullptr || arguments->kind != Kind::object) return;
    for (const PickleValue* attributes : arguments->state) {
      if (attributes->kind != Kind::dictionary) continue;
      const PickleValue* model = pickle_entry(*attributes, "model");
      if (model != nullptr && model->kind == Kind::text) {
        table_.metadata["args.model"] = model->text;
      }
    }
  }

  void read_tensors(const PickleValue& dictionary) {
    if (dictionary.items.size() / 2 > limits_.tensors) fail("more tensors than are allowed");
    for (std::size_t i = 0; i + 1 < dictionary.items.size(); i += 2) {
      const PickleValue& key = *dictionary.items[i];
      if (key.kind != Kind::text) fail("a tensor's name is no text");
      const StoredTensor tensor = read_tensor(key.text, *dictionary.items[i + 1]);
      if (!table_.tensors.emplace(key.text, tensor).second) {
        fail("tensor " + shown_name(key.text) + " is there twice");
      }
    }
    if (table_.tensors.empty()) fail("it holds no tensors");
  }

  StoredTensor read_tensor(const std::string& name, const PickleValue& value) {
    const std::string shown = "tensor " + shown_name(name);
    const PickleValue* tensor = &value;
    if (is_call(*tensor, kRebuildParameter) && !tensor->items[0]->items.empty()) {
      tensor = tensor->items[0]->items[0];
    }
    if (!is_call(*tensor, kRebuildTensor)) fail("entry " + shown_name(name) + " is no tensor");
    const auto& arguments = tensor->items[0]->items;
    if (arguments.size() < 4 || arguments[1]->kind != Kind::integer) fail(shown + " is damaged");
    Storage storage = read_storage(shown, *arguments[0]);
    StoredTensor result{name, storage.type, integers(shown, *arguments[2]), {}};
    place(shown, storage, arguments[1]->integer, integers(shown, *arguments[3]), result);
    return result;
  }

  static bool is_call(const PickleValue& value, std::string_view name) {
    return value.kind == Kind::object && value.text == name;
  }

  struct Storage {
    ElementType type = ElementType::f32;
    std::span<const std::byte> bytes;
  };

  // ("storage", type, key, location, number of elements)
  Storage read_storage(const std::string& shown, const PickleValue& value) {
    const PickleValue* id = value.kind == Kind::persistent ? value.items[0] : nullptr;
    if (id == nullptr || id->kind != Kind::tuple || id->items.size() != 5 ||
        id->items[0]->text != "storage" || id->items[2]->kind != Kind::text ||
        id->items[4]->kind != Kind::integer) {
      fail(shown + " has no storage");
    }
    const StorageType* type = storage_type(*id->items[1]);
    if (type == nullptr) fail(shown + " has the type " + shown_name(id->items[1]->text));
    const std::string member = prefix_ + "data/" + id->items[2]->text;
    const ZipArchive::Member* found = archive_.find(member);
    if (found == nullptr)
      fail(shown + " has no data: the member " + shown_name(member) + " is missing");
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(id->items[4]->integer, element_bytes(type->type), &bytes) ||
        bytes < 0 || std::uint64_t(bytes) != found->size) {
      fail(shown + " and its data differ in size");
    }
    const std::span<const std::byte> content = archive_.content(member);
    if (type->type == ElementType::boolean && booleans_.insert(member).second &&
        has_bad_boolean(content)) {
      fail(shown + " holds booleans that are neither 0 nor 1");
    }
    return {type->type, content};
  }

  std::vector<std::int64_t> integers(const std::string& shown, const PickleValue& tuple) const {
    if (tuple.kind != Kind::tuple || tuple.items.size() > kMostDimensions) {
      fail(shown + " has a damaged shape");
    }
    std::vector<std::int64_t> numbers;
    for (const PickleValue* item : tuple.items) {
      if (item->kind != Kind::integer || item->integer < 0) fail(shown + " has a damaged shape");
      numbers.push_back(item->integer);
    }
    return numbers;
  }

  // Finds the tensor's elements in its storage; those that do not lie in a row are copied into one.
  void place(const std::string& shown, const Storage& storage, std::int64_t offset,
             const std::vector<std::int64_t>& strides, StoredTensor& tensor) {
    const std::int64_t each = element_bytes(tensor.type);
    const std::int64_t available = std::int64_t(storage.bytes.size()) / each;
    const std::optional<std::int64_t> elements = element_count(tensor.shape);
    if (!elements || strides.size() != tensor.shape.size() || offset < 0 || offset > available) {
      fail(shown + " has a damaged shape");
    }
    if (*elements == 0) return;
    std::int64_t last = offset;
    bool contiguous = true;
    std::int64_t expected = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
      std::int64_t reach = 0;
      if (__builtin_mul_overflow(tensor.shape[i] - 1, strides[i], &reach) ||
          __builtin_add_overflow(last, reach, &last)) {
        fail(shown + " reaches beyond its storage");
      }
      contiguous = contiguous && (tensor.shape[i] == 1 || strides[i] == expected);
      expected *= tensor.shape[i];
    }
    if (last >= available) fail(shown + " reaches beyond its storage");
    if (contiguous) {
      tensor.bytes = storage.bytes.subspan(offset * each, *elements * each);
    } else {
      tensor.bytes = gather(shown, storage.bytes.subspan(offset * each), strides, tensor);
    }
  }

  std::span<const std::byte> gather(const std::string& shown, std::span<const std::byte> from,
                                    const std::vector<std::int64_t>& strides,
                                    const StoredTensor& tensor) {
    const std::uint64_t each = element_bytes(tensor.type), count = tensor.elements();
    if (count > copies_left_ / each) fail(shown + " is larger than the file that holds it");
    copies_left_ -= count * each;
    const std::shared_ptr<std::byte[]> buffer(new std::byte[count * each]);
    std::vector<std::int64_t> index(tensor.shape.size(), 0);
    std::int64_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::memcpy(buffer.get() + i * each, from.data() + at * std::int64_t(each), each);
      for (std::size_t axis = index.size(); axis-- > 0;) {
        at += strides[axis];
        if (++index[axis] < tensor.shape[axis]) break;
        at -= strides[axis] * tensor.shape[axis];
        index[axis] = 0;
      }
    }
    table_.owned.push_back(buffer);
    return {buffer.get(), count * each};
  }

  ZipArchive& archive_;
  const std::string& file_;
  const TensorFileLimits& limits_;
  std::string prefix_;
  std::uint64_t copies_left_ = 0;   // bytes; together no more than the file holds
  std::set<std::string> booleans_;  // storages that were looked at: many tensors may share one
  TensorTable table_;
};

}  // namespace

std::string torch_archive_prefix(const ZipArchive& archive) {
  std::string prefix;
  for (const auto& [name, member] : archive.members()) {
    const std::size_t slash = name.find('/');
    if (slash == 0 || slash == std::string::npos || name.substr(slash) != kPickleName) continue;
    if (!prefix.empty()) return {};
    prefix = name.substr(0, slash + 1);
  }
  return prefix;
}

TensorTable read_torch_archive(ZipArchive& archive, const std::string& file,
                               const TensorFileLimits& limits) {
  return TorchArchiveReader(archive, file, limits).read();
}

}  // namespace skyfix
