#include <gmock/gmock.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "skyfix/base/parallel.h"
#include "skyfix/retrieval/global_descriptor.h"

namespace skyfix {
namespace {

using ::testing::IsEmpty;

constexpr int kDimension = 64;

std::vector<float> unit_rows(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return float(double(random() >> 11) * 0x1p-53 - 0.5); };
  std::vector<float> rows;
  for (int i = 0; i < count; ++i) {
    const Eigen::VectorXf row = Eigen::VectorXf::NullaryExpr(kDimension, uniform).normalized();
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

void copy_row(std::vector<float>& rows, int from, int to) {
  std::copy_n(rows.begin() + from * kDimension, kDimension, rows.begin() + to * kDimension);
}

void fill_row(std::vector<float>& rows, int row, float value) {
  std::fill_n(rows.begin() + row * kDimension, kDimension, value);
}

std::span<const float> row_of(const std::vector<float>& rows, int row) {
  return std::span(rows).subspan(std::size_t(row) * kDimension, kDimension);
}

MapPlaces places_of(const std::vector<float>& rows) {
  MapPlaces places;
  places.clusters = kDimension / 4;
  places.local_dimension = 4;
  places.descriptor = rows;
  return places;
}

std::vector<std::uint32_t> images(const ProposalList& list) {
  std::vector<std::uint32_t> result;
  for (const Proposal& proposal : list.proposals) result.push_back(proposal.image_index);
  return result;
}

// A plain computation in double: rows that are not zero, best first, ties to the lowest index.
std::vector<std::uint32_t> plain_search(const std::vector<float>& rows,
                                        std::span<const float> query, std::size_t count) {
  std::vector<std::pair<double, std::uint32_t>> scored;
  for (std::uint32_t i = 0; i < rows.size() / kDimension; ++i) {
    const auto row = row_of(rows, int(i));
    if (std::all_of(row.begin(), row.end(), [](float v) { return v == 0; })) continue;
    double score = 0;
    for (int d = 0; d < kDimension; ++d) score += double(row[d]) * query[d];
    scored.emplace_back(-score, i);
  }
  std::sort(scored.begin(), scored.end());
  std::vector<std::uint32_t> result;
  for (std::size_t i = 0; i < std::min(count, scored.size()); ++i)
    result.push_back(scored[i].second);
  return result;
}

// Duplicates and rows of zeros among many rows, over several blocks: the same images in the same
// order as the plain computation, whatever the number of threads.
TEST(SearchPlaces, EqualsThePlainComputationWithDuplicatesAndZeroRows) {
  const int count = 9000;
  std::vector<float> rows = unit_rows(count, 1);
  for (int i = 0; i < 50; ++i) copy_row(rows, 17, 160 * i + 90);
  for (int i = 0; i < 50; ++i) fill_row(rows, 150 * i + 3, 0);
  const std::vector<float> others = unit_rows(20, 2);
  const std::size_t before = thread_count();
  for (int q = 0; q < 40; ++q) {
    const auto query = q < 20 ? row_of(rows, 17 + 111 * q) : row_of(others, q - 20);
    const auto expected = plain_search(rows, query, 20);
    set_thread_count(1);
    EXPECT_EQ(images(search_places(places_of(rows), query, 20)), expected) << "query " << q;
    set_thread_count(3);
    EXPECT_EQ(images(search_places(places_of(rows), query, 20)), expected) << "query " << q;
  }
  set_thread_count(before);
}

TEST(SearchPlaces, TiesGoToTheLowestIndexHoweverManyThereAre) {
  std::vector<float> rows = unit_rows(700, 3);
  for (int i = 0; i < 700; i += 2) copy_row(rows, 0, i);
  const ProposalList list = search_places(places_of(rows), row_of(rows, 0), 5);
  EXPECT_THAT(images(list), ::testing::ElementsAre(0, 2, 4, 6, 8));
  for (const Proposal& proposal : list.proposals) EXPECT_NEAR(proposal.score, 1, 1e-6);
}

TEST(SearchPlaces, NeverProposesRowsOfZeros) {
  // All scores but one are negative, so that zeros would come before them.
  std::vector<float> rows = unit_rows(300, 4);
  const std::vector<float> query(row_of(rows, 5).begin(), row_of(rows, 5).end());
  for (int i = 0; i < 300; ++i) {
    const auto row = row_of(rows, i);
    if (i != 5 && std::inner_product(row.begin(), row.end(), query.begin(), 0.0) > 0) {
      for (int d = 0; d < kDimension; ++d) rows[i * kDimension + d] *= -1;
    }
  }
  for (int i = 10; i < 250; ++i) fill_row(rows, i, 0);
  const auto found = images(search_places(places_of(rows), query, 12));
  EXPECT_EQ(found, plain_search(rows, query, 12));
  EXPECT_EQ(found.size(), 12u);
  EXPECT_EQ(found.front(), 5u);
}

TEST(SearchPlaces, GivesWhatThereIs) {
  std::vector<float> rows = unit_rows(6, 5);
  fill_row(rows, 2, 0);
  EXPECT_EQ(search_places(places_of(rows), row_of(rows, 0), 50).proposals.size(), 5u);
  EXPECT_THAT(search_places(places_of(rows), row_of(rows, 0), 0).proposals, IsEmpty());
  EXPECT_THAT(search_places(places_of(rows), row_of(rows, 0), -3).proposals, IsEmpty());
  const std::vector<float> none;
  EXPECT_THAT(search_places(places_of(none), row_of(rows, 0), 5).proposals, IsEmpty());
}

TEST(SearchPlaces, AQueryWithoutDirectionGivesNothing) {
  const std::vector<float> rows = unit_rows(6, 6);
  std::vector<float> query(kDimension, 0.0f);
  EXPECT_THAT(search_places(places_of(rows), query, 5).proposals, IsEmpty());
  query[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(search_places(places_of(rows), query, 5).proposals, IsEmpty());
}

TEST(SearchPlaces, RowsThatAreNoNumbersAreNeverProposed) {
  std::vector<float> rows = unit_rows(40, 7);
  fill_row(rows, 3, std::numeric_limits<float>::quiet_NaN());
  fill_row(rows, 4, std::numeric_limits<float>::infinity());
  const ProposalList list = search_places(places_of(rows), row_of(rows, 0), 40);
  EXPECT_EQ(list.proposals.size(), 38u);
  for (const Proposal& proposal : list.proposals) EXPECT_TRUE(std::isfinite(proposal.score));
}

}  // namespace
}  // namespace skyfix
