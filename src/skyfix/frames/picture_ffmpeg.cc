#include "skyfix/frames/picture_ffmpeg.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

#include <cstdlib>
#include <cstring>

#include "skyfix/base/error.h"

namespace skyfix::ffmpeg {
namespace {

constexpr int kFirstLinesOfHd = 720;
constexpr int kAlignment = 64;  // swscale writes whole vectors

// The formats "yuvj" say by their name what others say by their range.
AVPixelFormat without_j(AVPixelFormat format, bool& full_range) {
  const auto full = [&](AVPixelFormat same) {
    full_range = true;
    return same;
  };
  switch (format) {
    case AV_PIX_FMT_YUVJ411P:
      return full(AV_PIX_FMT_YUV411P);
    case AV_PIX_FMT_YUVJ420P:
      return full(AV_PIX_FMT_YUV420P);
    case AV_PIX_FMT_YUVJ422P:
      return full(AV_PIX_FMT_YUV422P);
    case AV_PIX_FMT_YUVJ440P:
      return full(AV_PIX_FMT_YUV440P);
    case AV_PIX_FMT_YUVJ444P:
      return full(AV_PIX_FMT_YUV444P);
    default:
      return format;
  }
}

int matrix_of(const AVFrame& frame, AVCodecID codec) {
  switch (frame.colorspace) {
    case AVCOL_SPC_BT709:
      return SWS_CS_ITU709;
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
      return SWS_CS_ITU601;
    case AVCOL_SPC_SMPTE240M:
      return SWS_CS_SMPTE240M;
    case AVCOL_SPC_FCC:
      return SWS_CS_FCC;
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
      return SWS_CS_BT2020;
    default:
      break;
  }
  const bool old = codec == AV_CODEC_ID_MJPEG || frame.height < kFirstLinesOfHd;
  return old ? SWS_CS_ITU601 : SWS_CS_ITU709;
}

}  // namespace

Image PictureConverter::convert(const AVFrame& frame, AVCodecID codec) {
  bool full_range = frame.color_range == AVCOL_RANGE_JPEG;
  const AVPixelFormat from = without_j(static_cast<AVPixelFormat>(frame.format), full_range);
  // Bit-exact on every processor, with chroma in full resolution.
  constexpr int kFlags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INT;
  scaler_.reset(sws_getCachedContext(scaler_.release(), frame.width, frame.height, from,
                                     frame.width, frame.height, AV_PIX_FMT_RGB24, kFlags, nullptr,
                                     nullptr, nullptr));
  if (!scaler_) {
    const char* name = av_get_pix_fmt_name(static_cast<AVPixelFormat>(frame.format));
    throw Error(Reason::unsupported_image,
                std::string("the video's pixel format cannot be converted: ") +
                    (name == nullptr ? "unknown" : name));
  }
  // (Refused, rightly, for RGB.)
  sws_setColorspaceDetails(scaler_.get(), sws_getCoefficients(matrix_of(frame, codec)),
                           full_range ? 1 : 0, sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16,
                           1 << 16);
  const std::size_t row = std::size_t(frame.width) * 3;
  const std::size_t stride = (row + kAlignment - 1) / kAlignment * kAlignment;
  const std::unique_ptr<std::uint8_t, decltype(&av_free)> padded(
      static_cast<std::uint8_t*>(av_malloc(stride * frame.height + kAlignment)), &av_free);
  if (!padded) throw std::bad_alloc();
  std::uint8_t* const planes[4] = {padded.get()};
  const int strides[4] = {static_cast<int>(stride)};
  sws_scale(scaler_.get(), frame.data, frame.linesize, 0, frame.height, planes, strides);
  Image image{frame.width, frame.height, 3, {}};
  image.pixels.resize(row * frame.height);
  for (int y = 0; y < frame.height; ++y) {
    std::memcpy(image.row(y), padded.get() + y * stride, row);
  }
  return image;
}

// The matrix leads from the stored picture to the shown one: (x, y) -> (a x + c y, b x + d y).
int orientation_of(const std::int32_t* m) {
  const auto magnitude = [](std::int32_t value) { return std::llabs(std::int64_t{value}); };
  const std::int32_t a = m[0], b = m[1], c = m[3], d = m[4];
  if (magnitude(a) + magnitude(d) >= magnitude(b) + magnitude(c)) {
    if (a >= 0) return d >= 0 ? 1 : 4;
    return d >= 0 ? 2 : 3;
  }
  if (b >= 0) return c >= 0 ? 5 : 6;
  return c >= 0 ? 8 : 7;
}

}  // namespace skyfix::ffmpeg
