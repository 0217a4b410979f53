#include "skyfix/report/record_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {

constexpr int kLinesBetweenSyncs = 32;

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::vector<std::string> whole_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

RecordFile::RecordFile(const std::filesystem::path& file) : file_(file) {
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("open the file");
  struct stat info {};
  const bool locked = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  if (locked && ::fstat(descriptor_, &info) == 0) {
    size_ = static_cast<std::size_t>(info.st_size);
    return;
  }
  const bool busy = !locked && errno == EWOULDBLOCK;
  const int cause = errno;
  ::close(descriptor_);
  if (busy) {
    throw Error(Reason::unwritable_output,
                "another process is writing this run: wait for it or take another --out", file_);
  }
  errno = cause;
  fail("lock the file");
}

RecordFile::~RecordFile() { ::close(descriptor_); }

void RecordFile::fail(const std::string& what) const {
  throw Error(Reason::unwritable_output, "cannot " + what + ": " + std::strerror(errno), file_);
}

void RecordFile::truncate(std::size_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail("shorten the file");
  size_ = bytes;
}

void RecordFile::append(std::string_view line) {
  const std::string bytes = std::string(line) + "\n";
  if (!write_all(descriptor_, bytes)) {
    const int cause = errno;
    const bool restored = ::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0;
    errno = cause;
    fail(restored ? "write the record" : "write the record (a part of its line stayed behind)");
  }
  size_ += bytes.size();
  if (++lines_since_sync_ >= kLinesBetweenSyncs) sync();
}

void RecordFile::sync() {
  // Some file systems cannot sync (EINVAL); that is no reason to lose a run.
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL) fail("settle the records on the disk");
  lines_since_sync_ = 0;
}

}  // namespace skyfix
