#include <gmock/gmock.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

#include "skyfix/base/file.h"
#include "skyfix/base/hash.h"
#include "skyfix/base/npy.h"
#include "skyfix/map/map_testing.h"
#include "skyfix/retrieval/global_descriptor.h"

namespace fs = std::filesystem;

namespace skyfix {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Outcome = DescriptorCache::Outcome;

const std::string kVocabulary = "0123456789abcdef0123456789abcdef";
const std::vector<float> kDescriptor{0.6f, 0.8f, 0};

class DescriptorCacheTest : public ::testing::Test {
 protected:
  fs::path photo(const std::string& name, std::string_view content = "picture") {
    write_file_atomic(scratch_ / name, content);
    return scratch_ / name;
  }
  Outcome outcome(const fs::path& file, int resize = 512, int dimension = 3) const {
    const auto lookup = cache_.find(file, resize, dimension);
    if (lookup.outcome != Outcome::hit) {
      EXPECT_THAT(lookup.descriptor, IsEmpty());
    }
    return lookup.outcome;
  }

  ScratchFolder scratch_;
  DescriptorCache cache_{scratch_ / "cache", "vlad-sift", kVocabulary};
};

TEST_F(DescriptorCacheTest, GivesBackWhatWasStored) {
  const fs::path file = photo("DJI_0001.JPG");
  EXPECT_EQ(outcome(file), Outcome::miss);
  cache_.store(file, 512, kDescriptor);
  const auto lookup = cache_.find(file, 512, 3);
  EXPECT_EQ(lookup.outcome, Outcome::hit);
  EXPECT_EQ(lookup.descriptor, kDescriptor);
}

TEST_F(DescriptorCacheTest, EntryIsNamedAfterPhotoResizeAndIdentity) {
  const fs::path file = photo("DJI 0001.v2.JPG", "1234567");
  const auto seconds = std::chrono::sys_seconds(std::chrono::seconds(1'700'000'000));
  fs::last_write_time(
      file, std::chrono::file_clock::from_sys(seconds) + std::chrono::nanoseconds(123456789));
  const std::string key = file.string() + "\n7\n1700000000123456789";
  EXPECT_EQ(cache_.entry(file, 640),
            scratch_ / "cache" / "vlad-sift-0123456789ab" /
                ("DJI 0001.v2_r640_" + sha1_hex(key).substr(0, 12) + ".npy"));
}

TEST_F(DescriptorCacheTest, RelativeAndRoundaboutPathsAreTheSamePhoto) {
  const fs::path file = photo("flight/a.jpg");
  EXPECT_EQ(cache_.entry(scratch_ / "flight" / ".." / "flight" / "." / "a.jpg", 512),
            cache_.entry(file, 512));
  EXPECT_EQ(cache_.entry(fs::relative(file), 512), cache_.entry(file, 512));
}

TEST_F(DescriptorCacheTest, EqualNamesInTwoFlightsDoNotMeet) {
  const fs::path first = photo("flight1/DJI_0001.JPG"), second = photo("flight2/DJI_0001.JPG");
  fs::last_write_time(second, fs::last_write_time(first));
  cache_.store(first, 512, kDescriptor);
  EXPECT_EQ(outcome(second), Outcome::miss);
  cache_.store(second, 512, std::vector<float>{0, 0, 1});
  EXPECT_EQ(cache_.find(first, 512, 3).descriptor, kDescriptor);
  EXPECT_THAT(cache_.find(second, 512, 3).descriptor, ElementsAre(0, 0, 1));
}

TEST_F(DescriptorCacheTest, ReplacedPhotosAreComputedAgain) {
  const fs::path file = photo("a.jpg", "one");
  const auto time = fs::last_write_time(file);
  cache_.store(file, 512, kDescriptor);
  photo("a.jpg", "three");
  fs::last_write_time(file, time);
  EXPECT_EQ(outcome(file), Outcome::miss) << "another size at the same time";
  photo("a.jpg", "one");
  fs::last_write_time(file, time + std::chrono::nanoseconds(1000));
  EXPECT_EQ(outcome(file), Outcome::miss) << "another time at the same size";
  fs::last_write_time(file, time);
  EXPECT_EQ(outcome(file), Outcome::hit);
}

TEST_F(DescriptorCacheTest, ResizeKindAndVocabularyAreKeptApart) {
  const fs::path file = photo("a.jpg");
  cache_.store(file, 512, kDescriptor);
  EXPECT_EQ(outcome(file, 640), Outcome::miss);
  const DescriptorCache other_kind(scratch_ / "cache", "dinov3", kVocabulary);
  const DescriptorCache other_map(scratch_ / "cache", "vlad-sift", "f123456789abcdef");
  EXPECT_EQ(other_kind.find(file, 512, 3).outcome, Outcome::miss);
  EXPECT_EQ(other_map.find(file, 512, 3).outcome, Outcome::miss);
}

TEST_F(DescriptorCacheTest, DamagedEntriesAreCorruptUntilStoredAgain) {
  const fs::path file = photo("a.jpg");
  cache_.store(file, 512, kDescriptor);
  const fs::path entry = cache_.entry(file, 512);
  const std::string whole = read_file(entry);
  const auto expect_corrupt = [&](const std::string& what) {
    EXPECT_EQ(outcome(file), Outcome::corrupt) << what;
    cache_.store(file, 512, kDescriptor);
    EXPECT_EQ(outcome(file), Outcome::hit) << what;
  };
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_file_atomic(entry, std::string_view(whole).substr(0, length));
    ASSERT_EQ(outcome(file), Outcome::corrupt) << "cut to " << length << " bytes";
  }
  write_file_atomic(entry, "not an array at all");
  expect_corrupt("other content");
  write_npy<float>(entry, kDescriptor, std::array<std::size_t, 2>{3, 1});
  expect_corrupt("another rank");
  write_npy<float>(entry, std::vector<float>(4), std::array<std::size_t, 1>{4});
  expect_corrupt("another length");
  write_npy<double>(entry, std::vector<double>(3), std::array<std::size_t, 1>{3});
  expect_corrupt("another type");
  const std::vector<float> not_numbers{0, std::numeric_limits<float>::quiet_NaN(), 1};
  write_npy<float>(entry, not_numbers, std::array<std::size_t, 1>{3});
  expect_corrupt("values that are not numbers");
}

TEST_F(DescriptorCacheTest, AFolderInTheWayIsCorruptAndNeverThrows) {
  const fs::path file = photo("a.jpg");
  fs::create_directories(cache_.entry(file, 512) / "inside");
  EXPECT_EQ(outcome(file), Outcome::corrupt);
  EXPECT_NO_THROW(cache_.store(file, 512, kDescriptor));
}

TEST_F(DescriptorCacheTest, AFolderThatCannotBeWrittenIsToldOnceAndNotFatal) {
  std::ostringstream told;
  const auto usual = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(told)));
  const DescriptorCache blocked(photo("file") / "cache", "vlad-sift", kVocabulary);
  const fs::path first = photo("a.jpg"), second = photo("b.jpg");
  EXPECT_NO_THROW(blocked.store(first, 512, kDescriptor));
  EXPECT_NO_THROW(blocked.store(second, 512, kDescriptor));
  spdlog::set_default_logger(usual);
  EXPECT_EQ(std::ranges::count(told.str(), '\n'), 1) << told.str();
  EXPECT_EQ(blocked.find(first, 512, 3).outcome, Outcome::miss);
}

TEST_F(DescriptorCacheTest, AnEmptyFolderIsOff) {
  const DescriptorCache off({}, "vlad-sift", kVocabulary);
  const fs::path file = photo("a.jpg");
  off.store(file, 512, kDescriptor);
  EXPECT_EQ(off.find(file, 512, 3).outcome, Outcome::off);
  EXPECT_TRUE(off.entry(file, 512).empty());
}

TEST_F(DescriptorCacheTest, APhotoThatIsGoneIsAMiss) {
  EXPECT_NO_THROW(cache_.store(scratch_ / "gone.jpg", 512, kDescriptor));
  EXPECT_EQ(outcome(scratch_ / "gone.jpg"), Outcome::miss);
}

TEST_F(DescriptorCacheTest, LongNamesAreCutBetweenCharacters) {
  std::string stem = "a";
  for (int i = 0; i < 100; ++i) stem += "\u00e9";  // 201 bytes
  const fs::path file = photo(stem + ".jpg");
  cache_.store(file, 512, kDescriptor);
  EXPECT_EQ(outcome(file), Outcome::hit);
  const std::string name = cache_.entry(file, 512).filename().string();
  EXPECT_EQ(name.substr(0, name.find("_r512_")), stem.substr(0, 149));
}

TEST_F(DescriptorCacheTest, ReadersNeverSeeAPartOfWhatWritersWrite) {
  const fs::path file = photo("a.jpg");
  const std::vector<std::vector<float>> versions{std::vector<float>(20000, 0.25f),
                                                 std::vector<float>(20000, 0.5f)};
  cache_.store(file, 512, versions[0]);
  std::vector<std::jthread> writers;
  std::atomic<int> writing = 2;
  for (const auto& version : versions) {
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) cache_.store(file, 512, version);
      --writing;
    });
  }
  int reads = 0;
  do {
    const auto lookup = cache_.find(file, 512, 20000);
    ASSERT_EQ(lookup.outcome, Outcome::hit);
    ASSERT_THAT(versions, ::testing::Contains(lookup.descriptor));
    ++reads;
  } while (writing > 0);
  EXPECT_GT(reads, 0);
  writers.clear();
  const auto folder = cache_.entry(file, 512).parent_path();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST(CacheOutcome, HasNames) {
  EXPECT_EQ(cache_outcome_name(Outcome::off), "off");
  EXPECT_EQ(cache_outcome_name(Outcome::hit), "hit");
  EXPECT_EQ(cache_outcome_name(Outcome::miss), "miss");
  EXPECT_EQ(cache_outcome_name(Outcome::corrupt), "corrupt");
}

}  // namespace
}  // namespace skyfix
