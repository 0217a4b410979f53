#include "skyfix/map/georegistration.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "skyfix/geo/testing.h"
#include "skyfix/map/map_testing.h"

namespace skyfix {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Wgs84 kOrigin{46.8425, -91.9940, 0};

struct NamedPosition {
  const char* name;
  double latitude_deg, longitude_deg, altitude_m;
};
// EXIF positions of the Brighton map photos, in the model's order of names.
constexpr NamedPosition kBrighton[] = {
    {"DJI_0018.JPG", 46.842607083, -91.994559889, 198.3090},
    {"DJI_0019.JPG", 46.842690667, -91.994427278, 198.6090},
    {"DJI_0021.JPG", 46.842865139, -91.994176639, 198.6090},
    {"DJI_0022.JPG", 46.842951583, -91.994051722, 198.5090},
    {"DJI_0023.JPG", 46.843038056, -91.993923056, 198.5090},
    {"DJI_0025.JPG", 46.842773861, -91.993825944, 198.5090},
    {"DJI_0026.JPG", 46.842690250, -91.993954389, 198.6090},
    {"DJI_0028.JPG", 46.842521250, -91.994209611, 198.6090},
    {"DJI_0029.JPG", 46.842433917, -91.994333389, 198.6090},
    {"DJI_0030.JPG", 46.842281611, -91.994084167, 198.6090},
    {"DJI_0031.JPG", 46.842371472, -91.993953556, 198.7090},
    {"DJI_0033.JPG", 46.842543250, -91.993702694, 198.6090},
    {"DJI_0034.JPG", 46.842629278, -91.993578667, 198.5090},
};

// A flight whose map coordinates are `map_from_enu` times the true ones.
class Flight {
 public:
  explicit Flight(std::uint64_t seed = 1) : generator_(seed) {
    enu_from_map_.scale = 7.5;
    enu_from_map_.rotation = Eigen::Quaterniond(0.3, -0.5, 0.7, 0.2).normalized();
    enu_from_map_.translation = {120, -45, 210};
  }
  // A lawn-mower flight: `lines` lines of `photos` each, 20 m apart, 80 m up.
  Flight& fly(int lines, int photos, double height_noise_m = 1) {
    for (int line = 0; line < lines; ++line) {
      for (int i = 0; i < photos; ++i) {
        add({20.0 * i, 20.0 * line, 80 + height_noise_m * normal_(generator_)});
      }
    }
    return *this;
  }
  void add(const Eigen::Vector3d& enu) {
    pairs_.push_back({"p" + std::to_string(pairs_.size()) + ".jpg", enu_from_map_.inverse() * enu,
                      frame_.wgs84_from_enu(enu)});
  }
  Flight& disturb(double horizontal_m, double vertical_m) {
    for (GpsPair& pair : pairs_) {
      shift(pair, {horizontal_m * normal_(generator_), horizontal_m * normal_(generator_),
                   vertical_m * normal_(generator_)});
    }
    return *this;
  }
  void shift(GpsPair& pair, const Eigen::Vector3d& by_m) const {
    pair.position = frame_.wgs84_from_enu(frame_.enu_from_wgs84(pair.position) + by_m);
  }
  // The largest error of a fit over the flight's true positions, metres.
  double largest_error(const Georegistration& fit) const {
    double largest = 0;
    const EnuFrame fit_frame(fit.origin);
    for (const GpsPair& pair : pairs_) {
      const Eigen::Vector3d truth =
          fit_frame.enu_from_wgs84(frame_.wgs84_from_enu(enu_from_map_ * pair.centre_in_map));
      largest = std::max(largest, (fit.enu_from_map * pair.centre_in_map - truth).norm());
    }
    return largest;
  }
  std::vector<GpsPair>& pairs() { return pairs_; }
  Georegistration fit() const { return fit_georegistration(pairs_, AltitudeDatum::as_recorded); }
  std::string error() const {
    return error_of(Reason::bad_georegistration, [&] { fit(); });
  }

 private:
  EnuFrame frame_{kOrigin};
  Similarity3 enu_from_map_;
  std::mt19937_64 generator_;
  std::normal_distribution<double> normal_;
  std::vector<GpsPair> pairs_;
};

TEST(Georegistration, ExactPositionsGiveTheExactSimilarity) {
  Flight flight;
  flight.fly(4, 5);
  const Georegistration fit = flight.fit();
  EXPECT_TRUE(fit.known());
  EXPECT_EQ(fit.kind, Georegistration::Kind::gps_fit);
  EXPECT_EQ(fit.datum, AltitudeDatum::as_recorded);
  EXPECT_NEAR(fit.enu_from_map.scale, 7.5, 1e-6);
  EXPECT_LT(flight.largest_error(fit), 1e-5);
  EXPECT_EQ(fit.photos_used, 20);
  EXPECT_EQ(fit.photos_rejected, 0);
  EXPECT_LT(fit.max_residual_m, 1e-5);
}

TEST(Georegistration, OriginIsTheFirstPositionRounded) {
  Flight flight;
  flight.fly(3, 3);
  flight.pairs()[0].position = {46.84263, -91.99397, 80};
  flight.pairs().push_back(flight.pairs()[1]);
  const Georegistration fit = flight.fit();
  EXPECT_NEAR(fit.origin.latitude_deg, 46.8426, 1e-12);
  EXPECT_NEAR(fit.origin.longitude_deg, -91.9940, 1e-12);
  EXPECT_EQ(fit.origin.h_ellipsoid, 0);
}

TEST(Georegistration, BrightonLiesOnItsGps) {
  const auto folder = shared_data("brighton") / "sparse" / "0";
  SKYFIX_NEED_SHARED(folder);
  std::map<std::string, Eigen::Vector3d> centres;
  for (const ColmapImage& image : read_colmap(folder).images) {
    centres[image.name] = image.cam_from_world.centre();
  }
  std::vector<GpsPair> pairs;
  for (const auto& [name, latitude_deg, longitude_deg, altitude_m] : kBrighton) {
    pairs.push_back({name, centres.at(name), {latitude_deg, longitude_deg, altitude_m}});
  }
  const Georegistration fit = fit_georegistration(pairs, AltitudeDatum::as_recorded);
  EXPECT_EQ(fit.photos_used, 13);
  EXPECT_NEAR(fit.rms_horizontal_m, 0.56, 0.03);
  EXPECT_NEAR(fit.rms_vertical_m, 0.13, 0.04);
  EXPECT_NEAR(fit.max_residual_m, 0.94, 0.05);
  EXPECT_NEAR(fit.enu_from_map.scale, 1, 0.01);  // the model is in metres
  // The model's origin is (46.8425, -91.9940, 150).
  const Eigen::Vector3d model_origin = EnuFrame(fit.origin).enu_from_wgs84({46.8425, -91.994, 150});
  EXPECT_THAT(fit.enu_from_map * Eigen::Vector3d(0, 0, 0), VectorNear(model_origin, 1.0));
}

TEST(Georegistration, OutliersAreRejected) {
  Flight flight;
  flight.fly(4, 6).disturb(0.5, 1.0);
  for (std::size_t i = 0; i < 10; ++i) {  // of 24
    flight.shift(flight.pairs()[2 * i], {60.0 + 13.0 * i, -40.0 * (i % 3), 30});
  }
  const Georegistration fit = flight.fit();
  EXPECT_GE(fit.photos_rejected, 10);
  EXPECT_GE(fit.photos_used, 12);
  EXPECT_LT(flight.largest_error(fit), 2.5);
  EXPECT_LT(fit.max_residual_m, 5);
}

TEST(Georegistration, ManyPhotosUseSamplesAndRepeatBitByBit) {
  Flight flight;
  flight.fly(20, 30).disturb(0.5, 1.0);
  for (std::size_t i = 0; i < 200; ++i) flight.shift(flight.pairs()[3 * i], {500, 10.0 * i, 0});
  const Georegistration fit = flight.fit();
  EXPECT_GE(fit.photos_rejected, 190);
  EXPECT_LT(flight.largest_error(fit), 0.5);
  const Georegistration again = flight.fit();
  EXPECT_EQ(fit.enu_from_map.scale, again.enu_from_map.scale);
  EXPECT_EQ(fit.enu_from_map.translation, again.enu_from_map.translation);
  EXPECT_EQ(fit.enu_from_map.rotation.coeffs(), again.enu_from_map.rotation.coeffs());
  EXPECT_EQ(fit.photos_used, again.photos_used);
}

TEST(Georegistration, APlaneOfCentresIsFine) {
  Flight flight;
  flight.fly(4, 5, 0);
  EXPECT_LT(flight.largest_error(flight.fit()), 1e-5);
}

TEST(Georegistration, ALineIsNot) {
  Flight line;
  line.fly(1, 12, 0);
  EXPECT_THAT(line.error(), AllOf(HasSubstr("line"), HasSubstr("turn")));
  Flight noisy;
  noisy.fly(1, 12, 0).disturb(0.5, 1);
  EXPECT_THAT(noisy.error(), HasSubstr("line"));
  Flight hovering;
  for (int i = 0; i < 5; ++i) hovering.add({10, 10, 80});
  EXPECT_THAT(hovering.error(), HasSubstr("line"));
}

TEST(Georegistration, AlmostALineIsNotEither) {
  Flight flight;
  for (int i = 0; i < 12; ++i) flight.add({20.0 * i, 2.5 * (i % 2), 80});
  EXPECT_LT(flight.largest_error(flight.fit()), 1e-5);  // enough for exact positions
  flight.disturb(1.5, 1.5);
  EXPECT_THAT(flight.error(), HasSubstr("almost on a line"));
}

TEST(Georegistration, FewerThanThreeIsTooFew) {
  Flight flight;
  EXPECT_THAT(flight.error(), HasSubstr("only 0 photos"));
  flight.fly(1, 2);
  EXPECT_THAT(flight.error(), HasSubstr("only 2 photos"));
  flight.add({50, 30, 81});
  EXPECT_LT(flight.largest_error(flight.fit()), 1e-5);
}

TEST(Georegistration, MixedUpPositionsHaveNoConsensus) {
  Flight flight;
  flight.fly(5, 6);
  std::vector<Wgs84> positions;
  for (const GpsPair& pair : flight.pairs()) positions.push_back(pair.position);
  std::mt19937_64 generator(3);
  std::shuffle(positions.begin(), positions.end(), generator);
  for (std::size_t i = 0; i < positions.size(); ++i) flight.pairs()[i].position = positions[i];
  EXPECT_THAT(flight.error(), AllOf(HasSubstr("more than half"), HasSubstr("mixed up")));
}

TEST(Georegistration, ImpossiblePositionsAreNamed) {
  Flight flight;
  flight.fly(2, 3);
  // Latitude and longitude swapped.
  flight.pairs()[4].position = {-91.99, 46.84, 100};
  EXPECT_THAT(flight.error(), HasSubstr("p4.jpg"));
  flight.pairs()[4].position = {46.84, -91.99, std::nan("")};
  EXPECT_THAT(flight.error(), HasSubstr("p4.jpg"));
  error_of(Reason::bad_georegistration, [] {
    georegistration_at_origin({-91.99, 46.84, 0}, AltitudeDatum::unknown);
  });
}

TEST(Georegistration, AtAGivenOriginNothingMoves) {
  const Georegistration given = georegistration_at_origin(kOrigin, AltitudeDatum::ellipsoid);
  EXPECT_TRUE(given.known());
  EXPECT_EQ(given.kind, Georegistration::Kind::given_origin);
  EXPECT_EQ(given.datum, AltitudeDatum::ellipsoid);
  EXPECT_EQ(given.enu_from_map * Eigen::Vector3d(1, 2, 3), Eigen::Vector3d(1, 2, 3));
  EXPECT_FALSE(Georegistration().known());
}

}  // namespace
}  // namespace skyfix
