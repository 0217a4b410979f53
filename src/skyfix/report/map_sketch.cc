#include "skyfix/report/map_sketch.h"

#include <spdlog/fmt/fmt.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "skyfix/report/utf8.h"

namespace skyfix {
namespace {

// Pixels of the drawing.
constexpr double kWidth = 1160, kHeight = 800;
constexpr double kMapLeft = 24, kMapTop = 76, kMapWidth = 820, kMapHeight = 700;
constexpr double kPanelLeft = 872, kPanelTop = 76;
constexpr double kMapMargin = 48;  // between the border and what is drawn
constexpr std::size_t kListedFrames = 18;
constexpr std::size_t kShownName = 30;  // characters
// Radius of the 95 % ellipse in standard deviations: sqrt of the chi-square quantile, 2 degrees of
// freedom.
const double kEllipse95 = std::sqrt(5.991464547107979);

constexpr const char* kStyle =
    "text{font-family:'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;fill:#243240}"
    ".title{font-size:20px;font-weight:600}.sub{font-size:13px;fill:#5b6b79}"
    ".head{font-size:13px;font-weight:600}.item{font-size:12px}.dim{font-size:12px;fill:#5b6b79}"
    ".camera{fill:#fff;fill-opacity:.85;stroke:#5b6b79;stroke-width:1.2}"
    ".track{fill:none;stroke:#1769aa;stroke-width:1.6;stroke-opacity:.55}"
    ".fix{fill:#1769aa;stroke:#fff;stroke-width:1.2}"
    ".heading{stroke:#1769aa;stroke-width:2;stroke-linecap:round}"
    ".ellipse{fill:#1769aa;fill-opacity:.14;stroke:#1769aa;stroke-opacity:.7}"
    ".reference{fill:none;stroke:#d9730d;stroke-width:1.6}"
    ".off{stroke:#d9730d;stroke-width:1}.bad{fill:#b3382c}"
    ".line{stroke:#243240;stroke-width:2;fill:none}";

// Where the sketch's positions lie on the page.
class Page {
 public:
  Page(const Eigen::Vector2d& low, const Eigen::Vector2d& high) : middle_((low + high) / 2) {
    const Eigen::Vector2d size = (high - low).cwiseMax(1e-9);
    pixels_per_unit_ =
        std::min((kMapWidth - 2 * kMapMargin) / size.x(), (kMapHeight - 2 * kMapMargin) / size.y());
  }
  double pixels_per_unit() const { return pixels_per_unit_; }
  Eigen::Vector2d pixel(const Eigen::Vector2d& position) const {
    const Eigen::Vector2d off = (position - middle_) * pixels_per_unit_;
    return {kMapLeft + kMapWidth / 2 + off.x(), kMapTop + kMapHeight / 2 - off.y()};
  }

 private:
  Eigen::Vector2d middle_;
  double pixels_per_unit_ = 1;
};

// Extent of cameras and fixes, and of the points but for the outermost hundredth on each side.
Page fitted_page(const MapSketch& sketch) {
  std::vector<Eigen::Vector2d> kept;
  for (int axis = 0; axis < 2 && !sketch.points.empty(); ++axis) {
    std::vector<double> values;
    for (const auto& point : sketch.points) values.push_back(point.position[axis]);
    std::sort(values.begin(), values.end());
    const std::size_t cut = values.size() / 100;
    const double ends[] = {values[cut], values[values.size() - 1 - cut]};
    for (int end = 0; end < 2; ++end) {
      if (axis == 0) kept.push_back({ends[end], 0});
      if (axis == 1) kept[static_cast<std::size_t>(end)].y() = ends[end];
    }
  }
  kept.insert(kept.end(), sketch.map_cameras.begin(), sketch.map_cameras.end());
  for (const auto& frame : sketch.frames) {
    if (frame.position) kept.push_back(*frame.position);
    if (frame.reference) kept.push_back(*frame.reference);
  }
  if (kept.empty()) kept = {{-1, -1}, {1, 1}};
  Eigen::Vector2d low = kept.front();
  Eigen::Vector2d high = kept.front();
  for (const Eigen::Vector2d& position : kept) {
    low = low.cwiseMin(position);
    high = high.cwiseMax(position);
  }
  return Page(low, high);
}

std::string text(double x, double y, const char* style, const std::string& content,
                 const char* anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n",
                     x, y, style, anchor, xml_text(content));
}

// Points of like colour share one path: small files, quick to draw.
std::string draw_points(const MapSketch& sketch, const Page& page) {
  std::map<std::array<int, 3>, std::string> paths;
  for (const auto& point : sketch.points) {
    const Eigen::Vector2d at = page.pixel(point.position);
    std::array<int, 3> colour;
    for (std::size_t c = 0; c < 3; ++c) {
      // Towards white, so that what lies on top stands out; coarse, so that colours are few.
      colour[c] = std::min(255, (150 + point.rgb[c] * 105 / 255) / 12 * 12);
    }
    paths[colour] += fmt::format("M{:.1f} {:.1f}h0", at.x(), at.y());
  }
  std::string svg = "<g stroke-width=\"2.6\" stroke-linecap=\"round\" fill=\"none\">\n";
  for (const auto& [colour, path] : paths) {
    svg += fmt::format("<path stroke=\"#{:02x}{:02x}{:02x}\" d=\"{}\"/>\n", colour[0], colour[1],
                       colour[2], path);
  }
  return svg + "</g>\n";
}

std::string camera_mark(const Eigen::Vector2d& at) {
  return fmt::format("<path class=\"camera\" d=\"M{:.1f} {:.1f}l4.5 8h-9z\"/>\n", at.x(),
                     at.y() - 5);
}

std::string reference_mark(const Eigen::Vector2d& at) {
  return fmt::format("<path class=\"reference\" d=\"M{:.1f} {:.1f}l6 6l-6 6l-6 -6z\"/>\n", at.x(),
                     at.y() - 6);
}

// A line through fixes that follow each other; a frame without a fix ends it.
std::string draw_track(const MapSketch& sketch, const Page& page) {
  std::string path;
  bool pen_down = false;
  for (const auto& frame : sketch.frames) {
    if (frame.position) {
      const Eigen::Vector2d at = page.pixel(*frame.position);
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", at.x(), at.y());
    }
    pen_down = frame.position.has_value();
  }
  return path.empty() ? "" : "<path class=\"track\" d=\"" + path + "\"/>\n";
}

std::string draw_ellipse(const Eigen::Vector2d& at, const Eigen::Matrix2d& covariance,
                         const Page& page) {
  if (!covariance.allFinite()) return "";
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> axes(covariance);
  const Eigen::Vector2d radii =
      axes.eigenvalues().cwiseMax(0).cwiseSqrt() * kEllipse95 * page.pixels_per_unit();
  if (!radii.allFinite() || radii.maxCoeff() > kMapWidth) return "";
  const Eigen::Vector2d major = axes.eigenvectors().col(1);
  const double angle_deg = -std::atan2(major.y(), major.x()) * 180 / std::numbers::pi;
  return fmt::format(
      "<ellipse class=\"ellipse\" rx=\"{:.2f}\" ry=\"{:.2f}\" "
      "transform=\"translate({:.1f} {:.1f}) rotate({:.1f})\"/>\n",
      radii.y(), radii.x(), at.x(), at.y(), angle_deg);
}

std::string draw_fix(const MapSketch::Frame& frame, const Page& page) {
  if (!frame.position) return "";
  const Eigen::Vector2d at = page.pixel(*frame.position);
  std::string svg = "<g><title>" + xml_text(frame.name) + "</title>\n";
  if (frame.covariance) svg += draw_ellipse(at, *frame.covariance, page);
  if (frame.heading && frame.heading->norm() > 1e-6) {
    const Eigen::Vector2d tip = frame.heading->normalized() * 15;
    svg += fmt::format("<path class=\"heading\" d=\"M{:.1f} {:.1f}l{:.1f} {:.1f}\"/>\n", at.x(),
                       at.y(), tip.x(), -tip.y());
  }
  if (frame.reference) {
    const Eigen::Vector2d truth = page.pixel(*frame.reference);
    svg += fmt::format("<path class=\"off\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", at.x(), at.y(),
                       truth.x(), truth.y());
  }
  return svg + fmt::format("<circle class=\"fix\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/></g>\n",
                           at.x(), at.y());
}

// 1, 2 or 5 times a power of ten, at most `limit`.
double round_length(double limit) {
  const double power = std::pow(10, std::floor(std::log10(limit)));
  for (const double step : {5.0, 2.0}) {
    if (step * power <= limit) return step * power;
  }
  return power;
}

std::string draw_scale_bar(const MapSketch& sketch, const Page& page) {
  const double length = round_length(180 / page.pixels_per_unit());
  const double pixels = length * page.pixels_per_unit();
  const double x = kMapLeft + 20;
  const double y = kMapTop + kMapHeight - 20;
  return fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}v6h{:.1f}v-6\"/>\n", x, y - 6,
                     pixels) +
         text(x + pixels / 2, y - 8, "item", fmt::format("{:g} {}", length, sketch.unit), "middle");
}

std::string draw_axes(const MapSketch& sketch) {
  const double x = kMapLeft + kMapWidth - 34;
  const double y = kMapTop + 62;
  if (sketch.north_up) {
    return fmt::format("<path fill=\"#243240\" d=\"M{:.1f} {:.1f}l7 22l-7 -5l-7 5z\"/>\n", x,
                       y - 34) +
           text(x, y + 4, "head", "N", "middle");
  }
  return fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}v-34m0 34h34\"/>\n", x - 30, y) +
         text(x - 30, y - 40, "head", sketch.y_axis, "middle") +
         text(x + 10, y + 4, "head", sketch.x_axis);
}

std::string shortened(const std::string& name) {
  const std::string whole = utf8_text(name);
  if (utf8_width(whole) <= kShownName) return whole;
  std::size_t begin = whole.size() - (kShownName - 1);  // the end of a name tells most
  while (utf8_length(std::string_view(whole).substr(begin)) == 0) ++begin;
  return "\xE2\x80\xA6" + whole.substr(begin);
}

std::string draw_legend(const MapSketch& sketch, double& y) {
  const double x = kPanelLeft + 10;
  std::string svg;
  const auto row = [&](const std::string& mark, const std::string& label) {
    svg += mark + text(kPanelLeft + 34, y + 4, "item", label);
    y += 24;
  };
  row(fmt::format("<path class=\"heading\" d=\"M{0:.1f} {1:.1f}h14\"/><circle class=\"fix\" "
                  "cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4.5\"/>\n",
                  x, y),
      "fix, with the picture's top");
  row(fmt::format("<ellipse class=\"ellipse\" cx=\"{:.1f}\" cy=\"{:.1f}\" rx=\"10\" ry=\"6\"/>\n",
                  x, y),
      "where it is with 95 % (horizontal)");
  row(fmt::format("<path class=\"track\" d=\"M{:.1f} {:.1f}h20\"/>\n", x - 10, y),
      "track; broken where a fix is missing");
  row(camera_mark({x, y}), "photo of the map");
  const bool referenced =
      std::any_of(sketch.frames.begin(), sketch.frames.end(),
                  [](const auto& frame) { return frame.reference.has_value(); });
  if (referenced) row(reference_mark({x, y}), "reference position");
  return svg;
}

std::string draw_missing(const MapSketch& sketch, double y) {
  std::vector<const MapSketch::Frame*> missing;
  for (const auto& frame : sketch.frames) {
    if (frame.status != FixStatus::ok) missing.push_back(&frame);
  }
  if (missing.empty()) return "";
  std::string svg = text(kPanelLeft, y, "head", fmt::format("Without a fix: {}", missing.size()));
  y += 22;
  for (std::size_t i = 0; i < std::min(missing.size(), kListedFrames); ++i) {
    const auto& frame = *missing[i];
    svg += fmt::format("<circle class=\"bad\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>",
                       kPanelLeft + 4, y - 4);
    svg += text(kPanelLeft + 14, y, "item", shortened(frame.name));
    svg += text(kPanelLeft + 14, y + 13, "dim",
                std::string(fix_status_name(frame.status)) +
                    (frame.reason.empty() ? "" : ": " + frame.reason));
    y += 30;
  }
  if (missing.size() > kListedFrames) {
    svg +=
        text(kPanelLeft + 14, y, "dim", fmt::format("and {} more", missing.size() - kListedFrames));
  }
  return svg;
}

std::string draw_head(const MapSketch& sketch) {
  const auto fixes = std::count_if(sketch.frames.begin(), sketch.frames.end(),
                                   [](const auto& frame) { return frame.position.has_value(); });
  return text(kMapLeft, 36, "title", sketch.title) +
         text(kMapLeft, 58, "sub",
              fmt::format(
                  "{} of {} frames with a fix \xC2\xB7 {} map photos \xC2\xB7 seen from above, {}",
                  fixes, sketch.frames.size(), sketch.map_cameras.size(),
                  sketch.north_up ? "north up" : "in the map's own frame"));
}

bool finite(const Eigen::Vector2d& position) { return position.allFinite(); }

MapSketch without_what_is_not_finite(MapSketch sketch) {
  std::erase_if(sketch.points, [](const auto& point) { return !finite(point.position); });
  std::erase_if(sketch.map_cameras, [](const auto& camera) { return !finite(camera); });
  for (auto& frame : sketch.frames) {
    if (frame.position && !finite(*frame.position)) frame.position.reset();
    if (frame.heading && !finite(*frame.heading)) frame.heading.reset();
    if (frame.reference && !finite(*frame.reference)) frame.reference.reset();
  }
  return sketch;
}

}  // namespace

std::string map_sketch_svg(const MapSketch& given) {
  const MapSketch sketch = without_what_is_not_finite(given);
  const Page page = fitted_page(sketch);
  std::string svg = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\">\n<style>{2}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#f6f7f8\"/>\n"
      "<clipPath id=\"map\"><rect x=\"{3}\" y=\"{4}\" width=\"{5}\" height=\"{6}\" "
      "rx=\"8\"/></clipPath>\n"
      "<rect x=\"{3}\" y=\"{4}\" width=\"{5}\" height=\"{6}\" rx=\"8\" fill=\"#fff\" "
      "stroke=\"#d5dbe0\"/>\n",
      kWidth, kHeight, kStyle, kMapLeft, kMapTop, kMapWidth, kMapHeight);
  svg += draw_head(sketch) + "<g clip-path=\"url(#map)\">\n" + draw_points(sketch, page);
  for (const Eigen::Vector2d& camera : sketch.map_cameras) svg += camera_mark(page.pixel(camera));
  svg += draw_track(sketch, page);
  for (const auto& frame : sketch.frames) {
    if (frame.reference) svg += reference_mark(page.pixel(*frame.reference));
  }
  for (const auto& frame : sketch.frames) svg += draw_fix(frame, page);
  svg += "</g>\n" + draw_scale_bar(sketch, page) + draw_axes(sketch);
  double y = kPanelTop + 12;
  svg += draw_legend(sketch, y);
  svg += draw_missing(sketch, y + 18);
  return svg + "</svg>\n";
}

}  // namespace skyfix
