#include "skyfix/frames/pipe_reader.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/base/text.h"
#include "skyfix/frames/sources.h"

namespace skyfix {
namespace {

using Bytes = std::span<const std::byte>;

constexpr int kPollMs = 100;
constexpr std::size_t kReadBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxJpegBytes = std::size_t{256} << 20;
constexpr double kMaxPixels = 4e8;

constexpr std::byte kMark{0xFF};
constexpr std::byte kStart{0xD8};
constexpr std::byte kEnd{0xD9};
constexpr std::byte kScan{0xDA};

bool is_restart(std::byte code) { return code >= std::byte{0xD0} && code <= std::byte{0xD7}; }

// A descriptor read without waiting for ever.
class Pipe {
 public:
  explicit Pipe(int descriptor) : descriptor_(descriptor) {}

  const std::vector<std::byte>& bytes() const { return bytes_; }
  void drop(std::size_t count) {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // Reads some more; false at the end and once stopped. Throws Error(source_lost).
  bool more() {
    pollfd waiting{descriptor_, POLLIN, 0};
    while (!stopped_) {
      const int ready = ::poll(&waiting, 1, kPollMs);
      if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
      const std::size_t before = bytes_.size();
      bytes_.resize(before + kReadBytes);
      const ssize_t count = ::read(descriptor_, bytes_.data() + before, kReadBytes);
      const int error = errno;
      bytes_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      if (count > 0) return true;
      if (count == 0) return false;
      if (error == EINTR || error == EAGAIN) continue;
      throw Error(Reason::source_lost,
                  std::string("the pipe cannot be read: ") + std::strerror(error));
    }
    return false;
  }
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  int descriptor_;
  std::vector<std::byte> bytes_;
  std::atomic<bool> stopped_{false};
};

class PipeReader : public FrameReader {
 public:
  explicit PipeReader(int descriptor) : pipe_(descriptor) {}
  const ReaderInfo& info() const override { return info_; }
  const std::string& damage() const override { return damage_; }
  void stop() override { pipe_.stop(); }

 protected:
  Step damaged(std::string why) {
    damage_ = std::move(why);
    return Step::damaged;
  }
  ReaderInfo info_;
  Pipe pipe_;
  std::string damage_;
};

class MjpegReader : public PipeReader {
 public:
  explicit MjpegReader(int descriptor) : PipeReader(descriptor) {
    info_.description = "mjpeg from a pipe";
  }

  Step advance() override {
    pipe_.drop(std::exchange(frame_bytes_, 0));
    if (!find_start()) return Step::end;
    JpegScanner scanner;
    JpegScanner::State state = scanner.scan(pipe_.bytes());
    while (state == JpegScanner::State::wants_more) {
      if (pipe_.bytes().size() > kMaxJpegBytes)
        state = JpegScanner::State::broken;
      else if (pipe_.more())
        state = scanner.scan(pipe_.bytes());
      else
        break;
    }
    if (pipe_.stopped()) return Step::end;
    if (state == JpegScanner::State::wants_more) {
      frame_bytes_ = pipe_.bytes().size();
      return damaged("the pipe ended within a frame");
    }
    frame_bytes_ = scanner.size();
    if (state == JpegScanner::State::whole) return Step::frame;
    return damaged("what came is no whole JPEG");
  }
  std::optional<std::int64_t> time_ns() const override { return std::nullopt; }
  Image picture() override {
    return decode_image_bytes(Bytes(pipe_.bytes()).first(frame_bytes_), {.grey = false});
  }

 private:
  // Throws away what is before the next start of a JPEG; false at the end.
  bool find_start() {
    while (true) {
      const auto& bytes = pipe_.bytes();
      const std::byte start[] = {kMark, kStart};
      const auto found =
          std::search(bytes.begin(), bytes.end(), std::begin(start), std::end(start));
      if (found != bytes.end()) {
        pipe_.drop(static_cast<std::size_t>(found - bytes.begin()));
        return true;
      }
      // The last byte may be the first half of it.
      pipe_.drop(bytes.empty() || bytes.back() != kMark ? bytes.size() : bytes.size() - 1);
      if (!pipe_.more()) return false;
    }
  }
  std::size_t frame_bytes_ = 0;
};

class RawReader : public PipeReader {
 public:
  RawReader(int descriptor, const RawFormat& format) : PipeReader(descriptor), format_(format) {
    info_.width = format.width;
    info_.height = format.height;
    info_.frames_per_second = format.frames_per_second;
    info_.description = "rgb24 from a pipe";
  }

  Step advance() override {
    pipe_.drop(std::exchange(taken_, 0));
    const std::size_t wanted = std::size_t(format_.width) * format_.height * 3;
    while (pipe_.bytes().size() < wanted) {
      if (pipe_.more()) continue;
      if (pipe_.stopped() || pipe_.bytes().empty()) return Step::end;
      taken_ = pipe_.bytes().size();
      return damaged("the pipe ended within a frame");
    }
    taken_ = wanted;
    ++frames_;
    return Step::frame;
  }
  std::optional<std::int64_t> time_ns() const override {
    return std::llround(double(frames_ - 1) * 1e9 / format_.frames_per_second);
  }
  Image picture() override {
    Image image{format_.width, format_.height, 3, {}};
    const auto* from = reinterpret_cast<const std::uint8_t*>(pipe_.bytes().data());
    image.pixels.assign(from, from + taken_);
    return image;
  }

 private:
  RawFormat format_;
  std::size_t taken_ = 0;
  std::int64_t frames_ = 0;
};

}  // namespace

// The compressed pixels between a scan's header and the next marker; false: more is wanted.
bool JpegScanner::skip_entropy_coded(Bytes bytes) {
  for (; at_ + 1 < bytes.size(); ++at_) {
    if (bytes[at_] != kMark) continue;
    const std::byte code = bytes[at_ + 1];
    if (code == std::byte{0} || code == kMark || is_restart(code)) continue;
    in_scan_ = false;
    return true;
  }
  return false;
}

JpegScanner::State JpegScanner::scan(Bytes bytes) {
  while (true) {
    if (in_scan_ && !skip_entropy_coded(bytes)) return State::wants_more;
    if (at_ + 1 >= bytes.size()) return State::wants_more;
    if (bytes[at_] != kMark || bytes[at_ + 1] == kStart) return State::broken;
    const std::byte code = bytes[at_ + 1];
    if (code == kMark) {  // padding
      ++at_;
      continue;
    }
    if (code == kEnd) {
      at_ += 2;
      return State::whole;
    }
    if (is_restart(code) || code == std::byte{1}) {
      at_ += 2;
      continue;
    }
    if (at_ + 3 >= bytes.size()) return State::wants_more;
    const std::size_t length = std::to_integer<std::size_t>(bytes[at_ + 2]) << 8 |
                               std::to_integer<std::size_t>(bytes[at_ + 3]);
    if (length < 2) return State::broken;
    if (at_ + 2 + length > bytes.size()) return State::wants_more;
    at_ += 2 + length;
    in_scan_ = code == kScan;
  }
}

std::optional<RawFormat> parse_pipe_format(const std::string& format) {
  if (format == "mjpeg") return std::nullopt;
  const std::string head = "rgb24:";
  const std::size_t cross = format.find('x', head.size());
  const std::size_t at = format.find('@');
  if (format.starts_with(head) && cross != std::string::npos && at != std::string::npos &&
      cross < at) {
    const auto width = parse_integer(format.substr(head.size(), cross - head.size()));
    const auto height = parse_integer(format.substr(cross + 1, at - cross - 1));
    const auto rate = parse_double(format.substr(at + 1));
    if (width && height && rate && *width > 0 && *height > 0 && *width <= 65535 &&
        *height <= 65535 && double(*width) * double(*height) <= kMaxPixels && *rate > 0) {
      return RawFormat{static_cast<int>(*width), static_cast<int>(*height), *rate};
    }
  }
  throw Error(Reason::bad_option, "--pipe-format is " + format +
                                      "; allowed are mjpeg and rgb24:WIDTHxHEIGHT@FPS, as "
                                      "rgb24:640x480@30");
}

std::unique_ptr<FrameReader> open_pipe(int descriptor, const std::string& format) {
  if (const auto raw = parse_pipe_format(format)) {
    return std::make_unique<RawReader>(descriptor, *raw);
  }
  return std::make_unique<MjpegReader>(descriptor);
}

}  // namespace skyfix
