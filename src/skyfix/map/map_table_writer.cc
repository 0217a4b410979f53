#include "skyfix/map/map_table_writer.h"

#include <cerrno>
#include <cstring>

#include "skyfix/base/error.h"
#include "skyfix/base/hash.h"

namespace skyfix {

void MapTableWriter::begin_file(const std::string& path, const std::string& header) {
  path_ = path;
  make_folder((folder_ / path).parent_path());
  out_ = std::ofstream(folder_ / path, std::ios::binary | std::ios::trunc);
  append_bytes(header);
}

void MapTableWriter::append_bytes(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void MapTableWriter::end() {
  out_.close();
  const std::filesystem::path file = folder_ / path_;
  if (!out_) {
    throw Error(Reason::unwritable_output,
                "cannot write the table: " + std::string(std::strerror(errno)), file);
  }
  tables_[path_] = {std::filesystem::file_size(file), sha256_hex_of_file(file)};
}

}  // namespace skyfix
