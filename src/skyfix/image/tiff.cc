// TIFF decoding with libtiff: 8 and 16 bit grey and RGB in strips or tiles by our own loops (exact
// rounding), the rarer kinds (palette, bilevel, YCbCr, CMYK) by libtiff's converter.
#include <algorithm>
#include <cstring>
#include <vector>

#include "skyfix/base/error.h"
#include "skyfix/image/codec.h"
#include "skyfix/image/tiff_file.h"

namespace skyfix::codec {
namespace {

// How the samples lie in the file.
struct Layout {
  int bits = 8;      // per sample
  int samples = 1;   // per pixel in the file, alpha included
  int channels = 1;  // of them kept: 1 or 3, and opacity
  bool opacity = false;
  bool premultiplied = false;
  bool planar = false;
  bool white_is_zero = false;
  bool floating = false;
  std::uint16_t photometric = 0;

  // Samples of a pixel that stand beside each other in a strip or tile.
  int interleaved() const { return planar ? 1 : samples; }
  bool plain() const {
    return (bits == 8 || bits == 16) && samples >= channels &&
           (photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE ||
            photometric == PHOTOMETRIC_RGB);
  }
};

// Opacity stands behind the colours. White-is-zero files have none that anybody writes.
void keep_opacity(const TiffFile& file, Layout& layout) {
  std::uint16_t count = 0;
  const std::uint16_t* kinds = nullptr;
  TIFFGetFieldDefaulted(file.handle(), TIFFTAG_EXTRASAMPLES, &count, &kinds);
  if (count == 0 || layout.white_is_zero || layout.samples <= layout.channels) return;
  layout.premultiplied = kinds[0] == EXTRASAMPLE_ASSOCALPHA;
  layout.opacity = layout.premultiplied || kinds[0] == EXTRASAMPLE_UNASSALPHA;
  if (layout.opacity) ++layout.channels;
}

Layout layout_of(const TiffFile& file) {
  Layout layout;
  layout.bits = file.tag(TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = file.tag(TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.photometric = file.tag(TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  layout.planar = file.tag(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE;
  layout.channels = layout.photometric == PHOTOMETRIC_RGB ? 3 : 1;
  layout.white_is_zero = layout.photometric == PHOTOMETRIC_MINISWHITE;
  const std::uint16_t format = file.tag(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  layout.floating = format != SAMPLEFORMAT_UINT && format != SAMPLEFORMAT_VOID;
  return layout;
}

// A block (strip or tile) within the picture. stride: pixels between its rows.
struct Block {
  int x = 0;
  int y = 0;
  int columns = 0;
  int rows = 0;
  int stride = 0;
};

// Writes a block's samples to the image, from sample `plane` on when the planes are apart.
void place_block(const std::vector<std::uint8_t>& data, const Block& block, const Layout& layout,
                 int plane, Image& image) {
  const int per_pixel = layout.interleaved();
  const int kept = layout.planar ? 1 : layout.channels;
  const std::uint8_t flip = layout.white_is_zero ? 255 : 0;
  const auto sample = [&](std::size_t index) -> std::uint8_t {
    if (layout.bits == 8) return data[index];
    std::uint16_t wide = 0;
    std::memcpy(&wide, &data[2 * index], 2);
    return eight_bits(wide);
  };
  for (int row = 0; row < block.rows; ++row) {
    std::uint8_t* to = image.row(block.y + row) + block.x * image.channels + plane;
    std::size_t from = std::size_t(row) * block.stride * per_pixel;
    for (int column = 0; column < block.columns; ++column) {
      for (int c = 0; c < kept; ++c) to[c] = sample(from + c) ^ flip;
      to += image.channels;
      from += per_pixel;
    }
  }
}

// The bytes of a whole strip or tile. One much larger than the picture is an attack.
std::uint64_t whole_block_bytes(const TiffFile& file) {
  const bool tiled = TIFFIsTiled(file.handle()) != 0;
  const std::uint64_t bytes =
      tiled ? TIFFTileSize64(file.handle()) : TIFFStripSize64(file.handle());
  constexpr std::uint64_t kSlack = std::uint64_t{64} << 20;
  const std::uint64_t picture = std::uint64_t(file.width()) * file.height();
  if (bytes == 0 || bytes > 16 * picture + kSlack) {
    throw Error(Reason::corrupt_image,
                "the TIFF's strips or tiles are of a size that makes no sense");
  }
  return bytes;
}

std::size_t block_bytes(const Block& block, const Layout& layout) {
  return std::size_t(block.stride) * block.rows * layout.interleaved() * (layout.bits / 8);
}

void read_strips(const TiffFile& file, const Layout& layout, int plane, Image& image) {
  std::uint32_t rows_per_strip = 0;
  TIFFGetFieldDefaulted(file.handle(), TIFFTAG_ROWSPERSTRIP, &rows_per_strip);
  if (rows_per_strip == 0) file.fail();
  const int step = static_cast<int>(std::min<std::uint32_t>(rows_per_strip, file.height()));
  std::vector<std::uint8_t> data(whole_block_bytes(file));
  for (int y = 0; y < file.height(); y += step) {
    const Block block{0, y, file.width(), std::min(step, file.height() - y), file.width()};
    const auto wanted = static_cast<tmsize_t>(block_bytes(block, layout));
    if (wanted > static_cast<tmsize_t>(data.size())) file.fail();
    const std::uint32_t strip =
        TIFFComputeStrip(file.handle(), y, static_cast<std::uint16_t>(plane));
    if (TIFFReadEncodedStrip(file.handle(), strip, data.data(), wanted) != wanted) file.fail();
    place_block(data, block, layout, plane, image);
    if (file.height() - y <= step) break;  // y + step may overflow
  }
}

void read_tiles(const TiffFile& file, const Layout& layout, int plane, Image& image) {
  std::uint32_t tile_width = 0;
  std::uint32_t tile_height = 0;
  TIFFGetField(file.handle(), TIFFTAG_TILEWIDTH, &tile_width);
  TIFFGetField(file.handle(), TIFFTAG_TILELENGTH, &tile_height);
  std::vector<std::uint8_t> data(whole_block_bytes(file));
  const auto size = static_cast<tmsize_t>(data.size());
  const std::uint64_t needed = std::uint64_t{tile_width} * tile_height * layout.interleaved() *
                               static_cast<unsigned>(layout.bits / 8);
  if (tile_width == 0 || tile_height == 0 || needed > data.size()) file.fail();
  const auto width = static_cast<std::uint32_t>(file.width());
  const auto height = static_cast<std::uint32_t>(file.height());
  for (std::uint64_t y = 0; y < height; y += tile_height) {
    for (std::uint64_t x = 0; x < width; x += tile_width) {
      const std::uint32_t tile =
          TIFFComputeTile(file.handle(), static_cast<std::uint32_t>(x),
                          static_cast<std::uint32_t>(y), 0, static_cast<std::uint16_t>(plane));
      if (TIFFReadEncodedTile(file.handle(), tile, data.data(), size) != size) file.fail();
      const Block block{int(x), int(y), int(std::min<std::uint64_t>(tile_width, width - x)),
                        int(std::min<std::uint64_t>(tile_height, height - y)), int(tile_width)};
      place_block(data, block, layout, plane, image);
    }
  }
}

Image read_plain(const TiffFile& file, const Layout& layout) {
  Image image = blank_image(file.width(), file.height(), layout.channels);
  const int planes = layout.planar ? layout.channels : 1;
  for (int plane = 0; plane < planes; ++plane) {
    if (TIFFIsTiled(file.handle())) {
      read_tiles(file, layout, plane, image);
    } else {
      read_strips(file, layout, plane, image);
    }
  }
  return image;
}

// libtiff's own conversion to RGBA, in the order of the file's rows: asking for the orientation
// that the file claims to have leaves the pixels where they are.
Image read_converted(const TiffFile& file) {
  char why_not[1024] = "";
  if (TIFFRGBAImageOK(file.handle(), why_not) == 0) {
    throw Error(Reason::unsupported_image,
                std::string("this TIFF's pixel format is not supported: ") + why_not);
  }
  whole_block_bytes(file);  // throws where it makes no sense
  const std::size_t count = std::size_t(file.width()) * file.height();
  std::vector<std::uint32_t> rgba(count);
  const int orientation = file.tag(TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  if (TIFFReadRGBAImageOriented(file.handle(), static_cast<std::uint32_t>(file.width()),
                                static_cast<std::uint32_t>(file.height()), rgba.data(), orientation,
                                /*stop on error*/ 1) == 0) {
    file.fail();
  }
  Image image = blank_image(file.width(), file.height(), 3);
  for (std::size_t i = 0; i < count; ++i) {
    image.pixels[3 * i] = static_cast<std::uint8_t>(TIFFGetR(rgba[i]));
    image.pixels[3 * i + 1] = static_cast<std::uint8_t>(TIFFGetG(rgba[i]));
    image.pixels[3 * i + 2] = static_cast<std::uint8_t>(TIFFGetB(rgba[i]));
  }
  return image;
}

}  // namespace

ImageInfo probe_tiff(Bytes bytes) {
  const TiffFile file(bytes);
  return {file.width(), file.height(), "tiff"};
}

Image decode_tiff(Bytes bytes, const DecodeOptions& options) {
  const TiffFile file(bytes);
  Layout layout = layout_of(file);
  if (layout.plain() && options.alpha == Alpha::over_white) keep_opacity(file, layout);
  if (layout.floating) {
    throw Error(Reason::unsupported_image,
                "this TIFF holds signed or floating-point samples; convert it to 8 or 16 bits");
  }
  Image image = layout.plain() ? read_plain(file, layout) : read_converted(file);
  if (layout.opacity) image = over_white(image, layout.premultiplied);
  return to_channels(std::move(image), options.grey ? 1 : 3);
}

}  // namespace skyfix::codec
