#include "skyfix/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "skyfix/base/error.h"

namespace skyfix {
namespace fs = std::filesystem;

namespace {

// Closes a descriptor when it leaves the scope.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string system_reason() { return std::strerror(errno); }

}  // namespace

MappedFile::MappedFile(const fs::path& file) : path_(file) {
  // Not blocking: a named pipe without a writer is to be refused below, not waited for.
  const Descriptor descriptor{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
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
  if (file.has_parent_path()) make_folder(file.parent_path());
  static std::atomic<unsigned> counter{0};
  const fs::path partial = file.string() + ".partial-" + std::to_string(::getpid()) + "-" +
                           std::to_string(counter.fetch_add(1));
  {
    std::ofstream out(partial, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    if (!out) {
      const std::string reason = system_reason();
      std::error_code ignored;
      fs::remove(partial, ignored);
      throw Error(Reason::unwritable_output, "cannot write the file: " + reason, file);
    }
  }
  std::error_code failure;
  fs::rename(partial, file, failure);
  if (failure) {
    std::error_code ignored;
    fs::remove(partial, ignored);
    throw Error(Reason::unwritable_output, "cannot write the file: " + failure.message(), file);
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
