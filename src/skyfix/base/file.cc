#include "skyfix/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <utility>

#include "skyfix/base/error.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

// Closes a descriptor when it leaves the scope.
struct Descriptor {
  explicit Descriptor(int fd) : fd(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

std::string system_reason() { return std::strerror(errno); }

Error unwritable(const std::string& reason, const fs::path& file) {
  return Error(Reason::unwritable_output, "cannot write the file: " + reason, file);
}

// Where writing a path ends: at a path that is no link, or at an open descriptor of this process
// (/dev/stdout leads to /proc/self/fd/1). The latter must be used itself: what it leads to in its
// turn may be a file that others go on writing to.
struct Target {
  fs::path path;
  int descriptor = -1;
};

// The number that a path in /proc/self/fd ends with; -1 = it is not there.
int descriptor_of(const fs::path& path) {
  std::error_code failure;
  const fs::path folder = fs::canonical("/proc/self/fd", failure);
  if (failure || fs::weakly_canonical(path.parent_path(), failure) != folder || failure) return -1;
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : -1;
}

Target target_of(const fs::path& file) {
  constexpr int kMostLinks = 40;  // as the kernel
  fs::path path = file;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code failure;
    if (!fs::is_symlink(fs::symlink_status(path, failure))) return {path};
    if (const int descriptor = descriptor_of(path); descriptor >= 0) return {path, descriptor};
    const fs::path leads_to = fs::read_symlink(path, failure);
    if (failure) throw unwritable(failure.message(), file);
    path = path.parent_path() / leads_to;  // leads_to alone where it is absolute
  }
  throw unwritable("too many symbolic links", file);
}

fs::file_status status_of(const Target& target, const fs::path& file) {
  std::error_code failure;
  const fs::file_status status = fs::status(target.path, failure);
  if (fs::is_directory(status)) throw unwritable("a folder has that name", file);
  return status;
}

// Empties a regular file; waits for the reader of a pipe.
int open_for_writing(const Target& target, const fs::path& file) {
  const int fd = target.descriptor >= 0
                     ? ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0)
                     : ::open(target.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) throw unwritable(system_reason(), file);
  return fd;
}

void write_all(int fd, std::string_view content, const fs::path& file) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw unwritable(system_reason(), file);
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_all(int fd, std::span<const std::string_view> pieces, const fs::path& file) {
  for (const std::string_view piece : pieces) write_all(fd, piece, file);
}

void write_to(std::ostream& out, std::string_view content) {
  if (!(out << content << std::flush)) {
    throw Error(Reason::unwritable_output, "standard output cannot be written (disk full?)");
  }
}

void refuse_missing_folder(const Target& target, const fs::path& file) {
  const fs::path folder = target.path.parent_path();
  std::error_code failure;
  if (folder.empty() || fs::is_directory(folder, failure)) return;
  throw unwritable("the folder " + folder.string() + " does not exist; create it first", file);
}

}  // namespace

MappedFile::MappedFile(const fs::path& file) : path_(file) {
  // Not blocking: a named pipe without a writer is to be refused below, not waited for.
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (descriptor.fd < 0 || ::fstat(descriptor.fd, &info) != 0) {
    throw Error(Reason::unreadable_file, "cannot open the file: " + system_reason(), file);
  }
  if (!S_ISREG(info.st_mode)) {
    throw Error(Reason::unreadable_file, "this is not a regular file", file);
  }
  size_ = static_cast<std::size_t>(info.st_size);
  if (size_ == 0) return;
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor.fd, 0);
  if (data == MAP_FAILED) {
    throw Error(Reason::unreadable_file, "cannot map the file: " + system_reason(), file);
  }
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

std::string read_file(const fs::path& file) {
  const MappedFile mapped(file);
  return std::string(mapped.text());
}

void make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure || !fs::is_directory(folder)) {
    throw Error(
        Reason::unwritable_output,
        "cannot create the folder: " + (failure ? failure.message() : "a file is in the way"),
        folder);
  }
}

void write_file_atomic(const fs::path& file, std::string_view content) {
  write_file_atomic(file, std::span(&content, 1));
}

void write_file_atomic(const fs::path& file, std::span<const std::string_view> pieces) {
  const Target target = target_of(file);
  const fs::file_status status = status_of(target, file);
  if (target.descriptor >= 0 || (fs::exists(status) && !fs::is_regular_file(status))) {
    write_all(Descriptor(open_for_writing(target, file)).fd, pieces, file);
    return;
  }
  if (target.path.has_parent_path()) make_folder(target.path.parent_path());
  static std::atomic<unsigned> counter{0};
  const fs::path partial = target.path.string() + ".partial-" + std::to_string(::getpid()) + "-" +
                           std::to_string(counter.fetch_add(1));
  try {
    write_all(Descriptor(open_for_writing({partial}, file)).fd, pieces, file);
    std::error_code failure;
    if (fs::exists(status)) fs::permissions(partial, status.permissions(), failure);
    fs::rename(partial, target.path, failure);
    if (failure) throw unwritable(failure.message(), file);
  } catch (const Error&) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    throw;
  }
}

bool is_standard_output(const fs::path& file) { return file == "-"; }

void write_output(const fs::path& file, std::string_view content, std::ostream& standard_output) {
  if (is_standard_output(file)) {
    write_to(standard_output, content);
    return;
  }
  refuse_missing_folder(target_of(file), file);
  standard_output.flush();  // the file may lead to the same place
  write_file_atomic(file, content);
}

GrowingOutput::GrowingOutput(fs::path file, std::ostream& standard_output)
    : file_(std::move(file)), standard_output_(standard_output) {
  if (file_.empty() || is_standard_output(file_)) return;
  const Target target = target_of(file_);
  refuse_missing_folder(target, file_);
  descriptor_ = open_for_writing(target, file_);
}

GrowingOutput::~GrowingOutput() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void GrowingOutput::write(std::string_view text) {
  if (file_.empty()) return;
  if (is_standard_output(file_)) {
    write_to(standard_output_, text);
  } else {
    standard_output_.flush();
    write_all(descriptor_, text, file_);
  }
}

fs::path user_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "skyfix";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "skyfix";
  }
  return fs::temp_directory_path() / "skyfix-cache";
}

}  // namespace skyfix
