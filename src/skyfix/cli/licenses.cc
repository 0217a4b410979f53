#include <cstdio>

#include "skyfix/cli/commands.h"

namespace skyfix::cli {
namespace {

struct Part {
  const char* name;
  const char* license;
  const char* use;
};

// What the program is linked with. tests/licenses_test.py compares this table with what the binary
// really loads.
constexpr Part kParts[] = {
    {"Skyfix", "Apache-2.0", "this program"},
    {"Ceres Solver", "BSD-3-Clause", "bundle adjustment, covariance"},
    {"SuiteSparse", "LGPL-2.1+ and GPL-2+", "sparse solvers inside Debian's Ceres (see below)"},
    {"Eigen", "MPL-2.0", "linear algebra"},
    {"OpenCV core, imgproc, features2d, calib3d, flann", "Apache-2.0",
     "SIFT, resizing, minimal solvers"},
    {"TBB, X11, GLX, libbsd", "Apache-2.0, MIT, BSD", "brought along by Debian's OpenCV"},
    {"FAISS", "MIT", "search over global descriptors"},
    {"OpenBLAS", "BSD-3-Clause", "matrix products inside FAISS"},
    {"libjpeg-turbo", "IJG and BSD-3-Clause", "JPEG"},
    {"libpng", "libpng-2.0", "PNG"},
    {"libtiff, with libwebp, LERC, JBIG-KIT, zstd, xz", "MIT-like; JBIG-KIT GPL-2+", "TIFF"},
    {"FFmpeg, with x264, x265 and other codecs", "GPL-2+ as Debian builds it",
     "videos and streams; a library of its own, opened for them alone"},
    {"libexif", "LGPL-2.1+", "EXIF"},
    {"Exempi (Adobe XMP toolkit)", "BSD-3-Clause", "XMP"},
    {"GeographicLib", "MIT", "geodesy"},
    {"OpenSSL libcrypto", "Apache-2.0", "digests"},
    {"zlib", "Zlib", "weights inside wheels"},
    {"LibTorch", "BSD-3-Clause", "networks, and the GPU's memory"},
    {"CUDA runtime, CUPTI and, with a GPU, its libraries", "NVIDIA's EULA",
     "what LibTorch itself loads"},
    {"spdlog, fmt", "MIT", "logging"},
    {"nlohmann-json", "MIT", "JSON"},
    {"CLI11", "BSD-3-Clause", "command line"},
    {"glog, gflags", "BSD-3-Clause", "logging inside Ceres"},
};

constexpr const char* kNotes =
    "\nWhat a redistributed binary falls under: Skyfix's own source is Apache-2.0. Debian and "
    "Ubuntu build\n"
    "Ceres with parts of SuiteSparse, and libtiff with JBIG-KIT, which are GPL-2 or later, so an "
    "archive that contains these "
    "libraries\n"
    "as a whole is to be given on under the GPL (version 3 goes together with Apache-2.0). Linking "
    "against\n"
    "the distribution's own packages, as the build does, redistributes nothing.\n"
    "FFmpeg, which Debian and Ubuntu build under the GPL, is reached through libskyfix_video.so "
    "alone: an\n"
    "archive without that file and FFmpeg's libraries is without it, and reads no videos.\n"
    "Model weights are never part of Skyfix; `skyfix models list` names their licences.\n"
    "Skyfix comes without warranty; see the file LICENSE.\n";

}  // namespace

void add_licenses(CLI::App& root, const Globals&, Commands& commands) {
  CLI::App* app =
      root.add_subcommand("licenses", "Licences of the program and of all that it is linked with");
  commands.push_back({app, [] {
                        for (const Part& part : kParts) {
                          std::printf("%-50s %-24s %s\n", part.name, part.license, part.use);
                        }
                        std::fputs(kNotes, stdout);
                        return kExitOk;
                      }});
}

}  // namespace skyfix::cli
