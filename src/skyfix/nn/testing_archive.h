// Zip archives, pickles and PyTorch files, sound ones and others. For tests only.
#pragma once

#include <zlib.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace skyfix::testing {

template <class Number>
std::string little(Number number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Number>
std::string raw(const std::vector<Number>& numbers) {
  return std::string(reinterpret_cast<const char*>(numbers.data()),
                     numbers.size() * sizeof(Number));
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string deflated(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

struct ZipEntry {
  std::string name = {}, content = {};
  bool deflate = false;
  // Lies, for hostile archives; the truth where empty.
  std::string directory_name = {};
  std::uint64_t size = 0;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t bad_crc = 0;  // added
};

// `wide`: sizes and the directory in the 64-bit fields.
inline std::string make_zip(const std::vector<ZipEntry>& entries, bool wide = false) {
  std::string zip, directory;
  for (const ZipEntry& entry : entries) {
    const std::string packed = entry.deflate ? deflated(entry.content) : entry.content;
    const std::uint64_t size = entry.size != 0 ? entry.size : entry.content.size();
    const std::uint16_t method = entry.method != 0 ? entry.method : entry.deflate ? 8 : 0;
    const auto crc =
        static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(entry.content.data()),
                                         static_cast<uInt>(entry.content.size())) +
                                   entry.bad_crc);
    const std::string common = little<std::uint16_t>(20) + little(entry.flags) + little(method) +
                               little<std::uint32_t>(0) + little(crc);
    const auto sizes = [&](bool full) {
      return little<std::uint32_t>(full ? ~0u : static_cast<std::uint32_t>(packed.size())) +
             little<std::uint32_t>(full ? ~0u : static_cast<std::uint32_t>(size));
    };
    const std::string& listed = entry.directory_name.empty() ? entry.name : entry.directory_name;
    const std::string extra = !wide ? ""
                                    : little<std::uint16_t>(1) + little<std::uint16_t>(24) +
                                          little(size) + little<std::uint64_t>(packed.size()) +
                                          little<std::uint64_t>(zip.size());
    directory += "PK\x01\x02" + little<std::uint16_t>(20) + common + sizes(wide) +
                 little<std::uint16_t>(listed.size()) + little<std::uint16_t>(extra.size()) +
                 std::string(10, '\0') +
                 little<std::uint32_t>(wide ? ~0u : static_cast<std::uint32_t>(zip.size())) +
                 listed + extra;
    zip += "PK\x03\x04" + common + sizes(false) + little<std::uint16_t>(entry.name.size()) +
           little<std::uint16_t>(0) + entry.name + packed;
  }
  const std::uint64_t begin = zip.size(), count = entries.size();
  zip += directory;
  if (wide) {
    const std::uint64_t record = zip.size();
    zip += "PK\x06\x06" + little<std::uint64_t>(44) + std::string(12, '\0') + little(count) +
           little(count) + little<std::uint64_t>(directory.size()) + little(begin);
    zip += "PK\x06\x07" + little<std::uint32_t>(0) + little(record) + little<std::uint32_t>(1);
  }
  return zip + "PK\x05\x06" + std::string(4, '\0') + little<std::uint16_t>(wide ? 0xffff : count) +
         little<std::uint16_t>(wide ? 0xffff : count) +
         little<std::uint32_t>(wide ? ~0u : static_cast<std::uint32_t>(directory.size())) +
         little<std::uint32_t>(wide ? ~0u : static_cast<std::uint32_t>(begin)) +
         little<std::uint16_t>(0);
}

// Pickle's opcodes, one behind the other.
class PickleWriter {
 public:
  std::string bytes = "\x80\x02";

  PickleWriter& add(std::string_view opcodes) {
    bytes += opcodes;
    return *this;
  }
  PickleWriter& text(const std::string& value) {
    return add("X" + little<std::uint32_t>(value.size()) + value);
  }
  PickleWriter& integer(std::int64_t value) { return add("\x8a\x08" + little(value)); }
  PickleWriter& global(const std::string& module, const std::string& name) {
    return add("c" + module + "\n" + name + "\n");
  }
  PickleWriter& integers(const std::vector<std::int64_t>& values) {
    add("(");
    for (const std::int64_t value : values) integer(value);
    return add("t");
  }
  // A tensor's opcodes; strides are those of a row where empty.
  PickleWriter& tensor(const std::string& storage, const std::string& key, std::int64_t count,
                       const std::vector<std::int64_t>& shape,
                       std::vector<std::int64_t> strides = {}, std::int64_t offset = 0) {
    if (strides.empty()) {
      strides.assign(shape.size(), 1);
      for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
    }
    global("torch._utils", "_rebuild_tensor_v2").add("((").text("storage");
    global("torch", storage).text(key).text("cpu").integer(count).add("tQ");
    integer(offset).integers(shape).integers(strides).add("\x89");
    return global("collections", "OrderedDict").add(")RtR");
  }
  std::string stop() const { return bytes + "."; }
};

// A PyTorch file of a pickle and its storages.
inline std::string make_torch_file(const std::string& pickle,
                                   const std::map<std::string, std::string>& storages,
                                   bool deflate = false) {
  std::vector<ZipEntry> entries{{"archive/data.pkl", pickle, deflate},
                                {"archive/byteorder", "little"}};
  for (const auto& [key, content] : storages) {
    entries.push_back({"archive/data/" + key, content, deflate});
  }
  return make_zip(entries);
}

}  // namespace skyfix::testing
