// Fuzzes what reads a run and a reference: the input's first byte chooses the parser. A record that
// is accepted must canonicalise, and canonicalise to itself.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"
#include "skyfix/report/cloud_file.h"
#include "skyfix/report/record_reader.h"
#include "skyfix/report/reference.h"
#include "skyfix/report/run_manifest.h"
#include "skyfix/report/stream_record.h"
#include "skyfix/report/tum.h"

namespace {

namespace fs = std::filesystem;

struct Scratch {
  fs::path file =
      fs::temp_directory_path() / ("skyfix-reference-fuzz-" + std::to_string(::getpid()) + ".json");
  ~Scratch() { fs::remove(file); }
};

void try_record(std::string_view text) {
  skyfix::parse_record(text, "line 1", "records.jsonl");
  const std::string canonical = skyfix::canonical_record_line(text);
  if (skyfix::canonical_record_line(canonical) != canonical) std::abort();
}

void try_stream_record(std::string_view text) {
  const skyfix::StreamRecord record = skyfix::parse_stream_record(text, "line 1", "records.jsonl");
  // What is accepted is written so that it is accepted again.
  const std::string line = skyfix::json_line(skyfix::stream_record_json(record));
  skyfix::parse_stream_record(line, "line 1", "records.jsonl");
  const std::string canonical = skyfix::canonical_stream_record_line(text);
  if (skyfix::canonical_stream_record_line(canonical) != canonical) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 6) {
      case 0:
        try_record(text);
        break;
      case 1:
        skyfix::parse_manifest(text, "run.json");
        break;
      case 2:
        try_stream_record(text);
        break;
      case 3:
        skyfix::parse_cloud_header(text, "cloud.ply");
        break;
      case 4:
        skyfix::write_file_atomic(scratch.file, text);
        skyfix::read_tum(scratch.file);
        break;
      default:
        skyfix::write_file_atomic(scratch.file, text);
        skyfix::read_reference(scratch.file);
    }
  } catch (const skyfix::Error&) {
    // Refusing is right.
  }
  return 0;
}
