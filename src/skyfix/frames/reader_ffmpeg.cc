// Demultiplexing and decoding behind FrameReader.
#include "skyfix/frames/reader_ffmpeg.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cmath>
#include <new>

#include "skyfix/base/error.h"

namespace skyfix::ffmpeg {
namespace {

// A file is given up after so many of its packets in a row cannot be read.
constexpr int kMaxReadFailures = 64;
constexpr int kTriedFrames = 16;
constexpr AVRational kNanosecond{1, 1'000'000'000};

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

class Dictionary {
 public:
  ~Dictionary() { av_dict_free(&entries_); }
  Dictionary() = default;
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;
  void set(const char* key, const std::string& value) {
    av_dict_set(&entries_, key, value.c_str(), 0);
  }
  AVDictionary** entries() { return &entries_; }

 private:
  AVDictionary* entries_ = nullptr;
};

const std::int32_t* display_matrix_of(const AVStream& stream) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100)
  const AVPacketSideData* found =
      av_packet_side_data_get(stream.codecpar->coded_side_data, stream.codecpar->nb_coded_side_data,
                              AV_PKT_DATA_DISPLAYMATRIX);
  return found == nullptr ? nullptr : reinterpret_cast<const std::int32_t*>(found->data);
#else
  return reinterpret_cast<const std::int32_t*>(
      av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, nullptr));
#endif
}

// Our own words first: FFmpeg's are terse.
std::string with_reason(const std::string& text, int error) {
  return text + " (FFmpeg says: " + error_text(error) + ")";
}

}  // namespace

std::string error_text(int error) {
  char text[AV_ERROR_MAX_STRING_SIZE] = "";
  av_strerror(error, text, sizeof text);
  return text;
}

Reader::Reader(const VideoReaderOptions& options)
    : options_(options), frame_(av_frame_alloc()), packet_(av_packet_alloc()) {
  if (!frame_ || !packet_) throw std::bad_alloc();
  // Strict decoders report what others patch up in silence. Some cameras bend the rules in every
  // frame, though; and what is live cannot be tried first.
  strict_ = !options.live;
  open_input();
  open_decoder();
  if (strict_) {
    if (!has_good_frame()) strict_ = false;
    open_input();  // again from the start
    open_decoder();
  }
  describe();
}

// Whether the strict decoder gets along with the first frames.
bool Reader::has_good_frame() {
  for (int tried = 0; tried < kTriedFrames; ++tried) {
    const Step step = advance();
    if (step != Step::damaged) return step == Step::frame;
  }
  return false;
}

int Reader::is_interrupted(void* self) {
  const auto& reader = *static_cast<const Reader*>(self);
  if (reader.stopped_) return 1;
  const auto limit_ns = static_cast<std::int64_t>(reader.options_.timeout_s * 1e9);
  return reader.options_.live && steady_ns() - reader.waiting_since_ns_ > limit_ns ? 1 : 0;
}

void Reader::open_input() {
  const bool device = options_.url.starts_with("/dev/");
  AVFormatContext* context = avformat_alloc_context();
  if (context == nullptr) throw std::bad_alloc();
  context->interrupt_callback = {&is_interrupted, this};
  Dictionary settings;
  std::string url = options_.url;
  const AVInputFormat* format = nullptr;
  if (device) {
    format = camera_format();
  } else if (options_.live) {
    settings.set("rtsp_transport", "tcp");
    settings.set("timeout", std::to_string(std::llround(options_.timeout_s * 1e6)));
  } else {
    // A file is a file, whatever its name looks like, and reads nothing but itself.
    url = "file:" + url;
    settings.set("protocol_whitelist", "file");
  }
  waiting_since_ns_ = steady_ns();
  packets_ = 0;
  read_failures_ = 0;
  end_reported_ = false;
  const int opened = avformat_open_input(&context, url.c_str(), format, settings.entries());
  if (opened < 0) fail_to_open(opened);  // (the context is freed already)
  input_.reset(context);
  const int found = avformat_find_stream_info(input_.get(), nullptr);
  if (found < 0) fail_to_open(found);
}

void Reader::fail_to_open(int error) const {
  if (options_.live) {
    throw Error(Reason::source_lost,
                with_reason("cannot be opened: check that the camera is there, its address, and "
                            "that no other program holds it",
                            error));
  }
  if (error == AVERROR(ENOENT) || error == AVERROR(EACCES)) {
    throw Error(Reason::unreadable_file, error_text(error), options_.url);
  }
  throw Error(Reason::not_a_video,
              with_reason("this is no video, or a recording that was not finished: its index is "
                          "written at the end",
                          error),
              options_.url);
}

void Reader::open_decoder() {
  const AVCodec* codec = nullptr;
  const int best =
      av_find_best_stream(input_.get(), AVMEDIA_TYPE_VIDEO, -1, -1, &codec, /*flags*/ 0);
  const bool cover =
      best >= 0 && (input_->streams[best]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
  if (best < 0 || cover || codec == nullptr) {
    throw Error(Reason::not_a_video, "it holds no video that can be decoded",
                options_.live ? std::string() : options_.url);
  }
  stream_ = input_->streams[best];
  for (unsigned i = 0; i < input_->nb_streams; ++i) {
    if (int(i) != best) input_->streams[i]->discard = AVDISCARD_ALL;
  }
  decoder_.reset(avcodec_alloc_context3(codec));
  if (!decoder_) throw std::bad_alloc();
  int status = avcodec_parameters_to_context(decoder_.get(), stream_->codecpar);
  decoder_->pkt_timebase = stream_->time_base;
  if (strict_) decoder_->err_recognition = AV_EF_EXPLODE;
  decoder_->max_pixels = std::llround(options_.max_megapixels * 1e6);
  // Decoding frames side by side delays them by as many; slices do not.
  decoder_->thread_count = std::clamp(options_.threads, 1, 16);
  decoder_->thread_type = options_.live ? FF_THREAD_SLICE : FF_THREAD_FRAME;
  if (options_.live) decoder_->flags |= AV_CODEC_FLAG_LOW_DELAY;
  if (std::int64_t{decoder_->width} * decoder_->height > decoder_->max_pixels) {
    throw Error(Reason::image_too_large,
                "its frames have " + std::to_string(decoder_->width) + " x " +
                    std::to_string(decoder_->height) + " pixels, over the limit (--max-megapixels)",
                options_.url);
  }
  if (status >= 0) status = avcodec_open2(decoder_.get(), codec, nullptr);
  if (status < 0) {
    throw Error(Reason::not_a_video, with_reason("its video cannot be decoded", status),
                options_.live ? std::string() : options_.url);
  }
}

void Reader::describe() {
  info_.width = decoder_->width;
  info_.height = decoder_->height;
  if (const std::int32_t* matrix = display_matrix_of(*stream_)) {
    info_.orientation = orientation_of(matrix);
  }
  const AVRational rate = av_guess_frame_rate(input_.get(), stream_, nullptr);
  if (rate.num > 0 && rate.den > 0) info_.frames_per_second = av_q2d(rate);
  if (stream_->nb_frames > 0) info_.frames = stream_->nb_frames;
  const char* pixels = av_get_pix_fmt_name(decoder_->pix_fmt);
  info_.description = std::string(avcodec_get_name(decoder_->codec_id)) + " in " +
                      input_->iformat->name + ", " + (pixels == nullptr ? "unknown" : pixels);
  const AVRational shape = av_guess_sample_aspect_ratio(input_.get(), stream_, nullptr);
  if (shape.num > 0 && shape.num != shape.den) {
    info_.notes.emplace_back("the video's pixels are not square; they are used as they are");
  }
  if (decoder_->color_trc == AVCOL_TRC_SMPTE2084 || decoder_->color_trc == AVCOL_TRC_ARIB_STD_B67) {
    info_.notes.emplace_back(
        "the video is HDR and is used without tone mapping: its pictures are pale");
  }
}

FrameReader::Step Reader::damaged(std::string why) {
  damage_ = std::move(why);
  return Step::damaged;
}

FrameReader::Step Reader::advance() {
  waiting_since_ns_ = steady_ns();
  while (!stopped_) {
    const int received = avcodec_receive_frame(decoder_.get(), frame_.get());
    if (received == 0) {
      // (The second is written by the decoder's threads, sooner or later: not the same every time.)
      const bool broken = (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0 ||
                          (options_.live && frame_->decode_error_flags != 0);
      return broken ? damaged("the frame is damaged: parts of it are missing") : Step::frame;
    }
    if (received == AVERROR_EOF) return at_end();
    if (received != AVERROR(EAGAIN)) {
      return damaged(with_reason("the frame is damaged and cannot be decoded", received));
    }
    if (const auto step = feed()) return *step;
  }
  return Step::end;
}

// Reads a packet and gives it to the decoder, or tells it that no more come.
std::optional<FrameReader::Step> Reader::feed() {
  const int read = av_read_frame(input_.get(), packet_.get());
  if (read == AVERROR(EAGAIN)) return std::nullopt;
  if (read < 0) return on_read_failure(read);
  read_failures_ = 0;
  const bool ours = packet_->stream_index == stream_->index;
  int sent = 0;
  if (ours) {
    ++packets_;
    sent = avcodec_send_packet(decoder_.get(), packet_.get());
  }
  av_packet_unref(packet_.get());
  if (sent < 0) return damaged(with_reason("the frame is damaged and cannot be decoded", sent));
  return std::nullopt;
}

std::optional<FrameReader::Step> Reader::on_read_failure(int error) {
  if (stopped_) return Step::end;
  const bool camera = options_.url.starts_with("/dev/");
  if (options_.live && (error != AVERROR_EOF || camera)) {
    const bool silent = error == AVERROR_EXIT;
    throw Error(Reason::source_lost,
                silent ? "nothing came for " + std::to_string(std::lround(options_.timeout_s)) +
                             " s: check the cable and the network"
                       : with_reason("it broke off: check the cable and the network", error));
  }
  if (error != AVERROR_EOF && ++read_failures_ < kMaxReadFailures) {
    // One report for a stretch that cannot be read.
    if (read_failures_ > 1) return std::nullopt;
    return damaged(with_reason("the file is damaged here", error));
  }
  avcodec_send_packet(decoder_.get(), nullptr);  // what it still holds comes out
  return std::nullopt;
}

// A file that ends before all the frames that its index lists are there says so, once.
FrameReader::Step Reader::at_end() {
  const bool cut = !options_.live && input_->pb != nullptr && avio_feof(input_->pb) != 0 &&
                   stream_->nb_frames > packets_;
  if (!cut || end_reported_) return Step::end;
  end_reported_ = true;
  return damaged("the file is cut off here: " + std::to_string(packets_) + " of " +
                 std::to_string(stream_->nb_frames) + " frames are there");
}

std::optional<std::int64_t> Reader::time_ns() const {
  const std::int64_t stamp = frame_->best_effort_timestamp;
  if (stamp == AV_NOPTS_VALUE) return std::nullopt;
  return av_rescale_q(stamp, stream_->time_base, kNanosecond);
}

Image Reader::picture() { return converter_.convert(*frame_, decoder_->codec_id); }

}  // namespace skyfix::ffmpeg
