#include "skyfix/nn/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/nn/byte_cursor.h"

namespace skyfix {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostDimensions = 16;
constexpr std::string_view kMetadata = "__metadata__";

std::optional<ElementType> type_named(std::string_view name) {
  for (const ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i64,
        ElementType::i32, ElementType::i16, ElementType::i8, ElementType::u8,
        ElementType::boolean}) {
    if (element_type_name(type) == name) return type;
  }
  return std::nullopt;
}

struct HeaderEntry {
  std::string name;
  std::optional<std::string> type;
  std::optional<std::vector<std::int64_t>> shape, offsets;
};

// Takes the header's events one by one: no tree of whatever a hostile header holds is built.
// The events' names are the JSON library's.
class HeaderEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderEvents(std::uint64_t most_tensors, std::map<std::string, std::string>& metadata)
      : most_tensors_(most_tensors), metadata_(metadata) {}

  std::vector<HeaderEntry> entries;
  std::string problem;

  bool start_object(std::size_t) override {
    if (place_ == Place::start) return go(Place::top);
    if (place_ == Place::top) return go(in_metadata_ ? Place::metadata : Place::entry);
    return refuse("an object where none belongs");
  }
  bool end_object() override { return go(place_ == Place::top ? Place::end : Place::top); }
  bool start_array(std::size_t) override {
    if (place_ != Place::entry || (key_ != "shape" && key_ != "data_offsets")) {
      return refuse("a list where none belongs");
    }
    auto& list = key_ == "shape" ? entries.back().shape : entries.back().offsets;
    if (list) return refuse(key_ + " is there twice");
    list.emplace();
    return go(Place::list);
  }
  bool end_array() override { return go(Place::entry); }
  bool key(std::string& name) override {
    key_ = name;
    if (place_ != Place::top) return true;
    in_metadata_ = name == kMetadata;
    if (in_metadata_) return true;
    if (entries.size() == most_tensors_) return refuse("more tensors than are allowed");
    entries.push_back({name, {}, {}, {}});
    return true;
  }
  bool string(std::string& text) override {
    if (place_ == Place::metadata) {
      return metadata_.emplace(key_, text).second || refuse("a metadata key is there twice");
    }
    if (place_ != Place::entry || key_ != "dtype") return refuse("a text where none belongs");
    if (entries.back().type) return refuse("dtype is there twice");
    entries.back().type = text;
    return true;
  }
  bool number_unsigned(std::uint64_t number) override {
    if (place_ != Place::list || number > std::uint64_t(INT64_MAX)) {
      return refuse("a number where none belongs");
    }
    auto& list = *(key_ == "shape" ? entries.back().shape : entries.back().offsets);
    if (list.size() == kMostDimensions) return refuse("a tensor with too many dimensions");
    list.push_back(static_cast<std::int64_t>(number));
    return true;
  }
  bool number_integer(std::int64_t) override { return refuse("a number below zero"); }
  bool number_float(double, const std::string&) override {
    return refuse("a number that is not whole");
  }
  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("a truth value"); }
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    return refuse("no JSON, at byte " + std::to_string(at));
  }

 private:
  enum class Place { start, top, metadata, entry, list, end };
  bool go(Place place) {
    place_ = place;
    return true;
  }
  bool refuse(std::string what) {
    problem = std::move(what);
    return false;
  }
  std::uint64_t most_tensors_;
  std::map<std::string, std::string>& metadata_;
  Place place_ = Place::start;
  bool in_metadata_ = false;
  std::string key_;
};

class SafetensorsReader {
 public:
  SafetensorsReader(std::span<const std::byte> bytes, const std::string& file,
                    const TensorFileLimits& limits)
      : file_(file), limits_(limits) {
    ByteCursor cursor(bytes, "the safetensors file", file);
    const auto header_bytes = cursor.read<std::uint64_t>();
    if (header_bytes > limits.header_bytes) cursor.fail("has a header beyond the size limit");
    header_ = cursor.take_text(header_bytes);
    data_ = cursor.take(cursor.left());
  }

  TensorTable read() {
    HeaderEvents events(limits_.tensors, table_.metadata);
    if (!nlohmann::json::sax_parse(header_.begin(), header_.end(), &events)) {
      fail("the header holds " + events.problem);
    }
    for (const HeaderEntry& entry : events.entries) add(entry);
    refuse_holes();
    return std::move(table_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(Reason::bad_weights, "not a usable safetensors file: " + problem, file_);
  }

  void add(const HeaderEntry& entry) {
    const std::string shown = "tensor " + shown_name(entry.name);
    if (!entry.type || !entry.shape || !entry.offsets || entry.offsets->size() != 2) {
      fail(shown + " lacks one of dtype, shape, data_offsets");
    }
    const std::optional<ElementType> type = type_named(*entry.type);
    if (!type)
      fail(shown + " has the type " + shown_name(*entry.type) + ", which is not supported");
    const std::int64_t begin = entry.offsets->front(), end = entry.offsets->back();
    if (begin > end || end > std::int64_t(data_.size())) {
      fail("the file is cut off or damaged: " + shown + " lies outside it");
    }
    const std::optional<std::int64_t> elements = element_count(*entry.shape);
    std::int64_t bytes = 0;
    if (!elements || __builtin_mul_overflow(*elements, element_bytes(*type), &bytes) ||
        bytes != end - begin) {
      fail(shown + " has " + std::to_string(end - begin) + " bytes, which its shape contradicts");
    }
    const StoredTensor tensor{entry.name, *type, *entry.shape, data_.subspan(begin, bytes)};
    if (*type == ElementType::boolean && has_bad_boolean(tensor.bytes))
      fail(shown + " holds booleans that are neither 0 nor 1");
    if (!table_.tensors.emplace(entry.name, tensor).second) fail(shown + " is there twice");
  }

  // The format allows neither overlaps nor bytes that belong to no tensor.
  void refuse_holes() const {
    std::vector<std::span<const std::byte>> places;
    for (const auto& [name, tensor] : table_.tensors) places.push_back(tensor.bytes);
    std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) {
      return std::pair(a.data(), a.size()) < std::pair(b.data(), b.size());
    });
    const std::byte* end = data_.data();
    for (const auto& place : places) {
      if (place.data() != end) fail("tensors overlap or leave bytes between them");
      end = place.data() + place.size();
    }
    if (end != data_.data() + data_.size()) fail("bytes behind the last tensor belong to none");
  }

  const std::string& file_;
  const TensorFileLimits& limits_;
  std::string_view header_;
  std::span<const std::byte> data_;
  TensorTable table_;
};

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  return bytes.size() > kLengthBytes && bytes[kLengthBytes] == std::byte{'{'};
}

TensorTable read_safetensors(std::span<const std::byte> bytes, const std::string& file,
                             const TensorFileLimits& limits) {
  return SafetensorsReader(bytes, file, limits).read();
}

void write_safetensors(const std::filesystem::path& file, std::span<const StoredTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  constexpr std::size_t kAlignment = 64;
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return element_bytes(a->type) > element_bytes(b->type);
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  std::size_t offset = 0;
  std::vector<std::string_view> pieces(2);
  for (const StoredTensor* tensor : order) {
    header[tensor->name] = {{"dtype", element_type_name(tensor->type)},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, offset + tensor->bytes.size()}}};
    offset += tensor->bytes.size();
    pieces.push_back(text_of(tensor->bytes));
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize(
      (kLengthBytes + text.size() + kAlignment - 1) / kAlignment * kAlignment - kLengthBytes, ' ');
  const std::uint64_t length = text.size();
  pieces[0] = {reinterpret_cast<const char*>(&length), sizeof length};
  pieces[1] = text;
  write_file_atomic(file, pieces);
}

}  // namespace skyfix
