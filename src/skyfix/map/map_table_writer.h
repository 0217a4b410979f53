// Writes the tables of a map folder and keeps their sizes and hashes.
#pragma once

#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "skyfix/base/npy.h"
#include "skyfix/map/map_manifest.h"

namespace skyfix {

class MapTableWriter {
 public:
  explicit MapTableWriter(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // A whole table; `row_size` 0 = a vector, else a matrix with rows of that many values.
  template <class T>
  void write(const std::string& path, std::span<const T> values, std::size_t row_size = 0) {
    begin<T>(path, values.size() / std::max<std::size_t>(row_size, 1), row_size);
    append(values);
    end();
  }

  // A table in pieces, so that large ones are never in memory twice.
  template <class T>
  void begin(const std::string& path, std::size_t rows, std::size_t row_size = 0) {
    std::vector<std::size_t> shape{rows};
    if (row_size > 0) shape.push_back(row_size);
    begin_file(path, npy::header(npy::dtype<T>(), shape));
  }
  template <class T>
  void append(std::span<const T> values) {
    append_bytes({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  void end();

  const std::map<std::string, map_manifest::Table>& tables() const { return tables_; }

 private:
  void begin_file(const std::string& path, const std::string& header);
  void append_bytes(std::string_view bytes);

  std::filesystem::path folder_;
  std::string path_;
  std::ofstream out_;
  std::map<std::string, map_manifest::Table> tables_;
};

}  // namespace skyfix
