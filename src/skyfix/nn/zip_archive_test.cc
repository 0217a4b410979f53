#include "skyfix/nn/zip_archive.h"

#include <gmock/gmock.h>

#include <random>

#include "skyfix/base/error.h"
#include "skyfix/nn/byte_cursor.h"
#include "skyfix/nn/testing_archive.h"
#include "skyfix/nn/testing_refusal.h"

namespace skyfix {
namespace {

using testing::as_bytes;
using ::testing::HasSubstr;
using testing::make_zip;
using testing::refusal;
using testing::ZipEntry;

constexpr std::uint64_t kLimit = 1'000'000;

std::string noise(std::size_t size) {
  std::mt19937 random(7);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random() % 7);
  return text;
}

// Opens the archive and reads every member.
void read_all(std::string_view zip, std::uint64_t limit = kLimit) {
  ZipArchive archive(as_bytes(zip), "a.zip", limit);
  for (const auto& [name, member] : archive.members()) archive.content(name);
}

const std::vector<ZipEntry> kSound{{"a/stored", noise(500)},
                                   {"b", noise(70'000), /*deflate=*/true},
                                   {"empty", ""},
                                   {"empty too", "", /*deflate=*/true}};

TEST(ZipArchive, ReadsStoredAndDeflatedMembersAndThe64BitFields) {
  for (const bool wide : {false, true}) {
    const std::string zip = make_zip(kSound, wide);
    ZipArchive archive(as_bytes(zip), "a.zip", kLimit);
    ASSERT_EQ(archive.members().size(), 4u);
    for (const ZipEntry& entry : kSound) {
      EXPECT_EQ(text_of(archive.content(entry.name)), entry.content) << entry.name;
    }
    // In place, and unpacked once.
    const auto stored = archive.content("a/stored");
    EXPECT_GE(reinterpret_cast<const char*>(stored.data()), zip.data());
    EXPECT_LE(reinterpret_cast<const char*>(stored.data() + stored.size()),
              zip.data() + zip.size());
    EXPECT_EQ(archive.content("b").data(), archive.content("b").data());
    EXPECT_EQ(archive.owned().size(), 2u);
  }
}

TEST(ZipArchive, ACommentAtTheEndIsSkipped) {
  std::string zip = make_zip({{"a", "content"}});
  zip.replace(zip.size() - 2, 2, testing::little<std::uint16_t>(7));
  read_all(zip + "comment");
  EXPECT_THAT(refusal([&] { read_all(zip + "commen"); }), HasSubstr("cut off"));
}

TEST(ZipArchive, IsRefusedWhereverItIsCut) {
  for (const bool wide : {false, true}) {
    const std::string zip = make_zip({{"a", "content"}, {"b", noise(200), true}}, wide);
    for (std::size_t cut = 0; cut < zip.size(); ++cut) {
      EXPECT_FALSE(refusal([&] { read_all({zip.data(), cut}); }).empty()) << cut;
    }
  }
}

TEST(ZipArchive, RefusesBombs) {
  const std::string zeros(1 << 20, '\0');
  // More than the limit, before anything is unpacked; also together.
  EXPECT_THAT(refusal([&] {
                read_all(make_zip({{"big", zeros, true}}), zeros.size() - 1);
              }),
              HasSubstr("big unpacks to 1048576 bytes, beyond the limit"));
  EXPECT_THAT(refusal([&] {
                read_all(make_zip({{"a", zeros, true}, {"b", zeros, true}}), zeros.size() * 3 / 2);
              }),
              HasSubstr("zip member b unpacks"));
  // A size that deflate cannot reach; a stream longer or shorter than its size.
  ZipEntry lie{"lie", zeros, true};
  lie.size = std::uint64_t(1) << 31;
  EXPECT_THAT(refusal([&] { read_all(make_zip({lie})); }), HasSubstr("cannot unpack to the size"));
  for (const int more : {-1, 1}) {
    lie.size = zeros.size() + more;
    EXPECT_THAT(refusal([&] { read_all(make_zip({lie}), 1 << 22); }), HasSubstr("damaged")) << more;
  }
  ZipEntry stored{"stored", "abc"};
  stored.size = 4;
  EXPECT_THAT(refusal([&] { read_all(make_zip({stored})); }), HasSubstr("cannot unpack"));
}

TEST(ZipArchive, RefusesWhatCannotBeTrusted) {
  EXPECT_THAT(refusal([] { read_all(make_zip({{"a", "1"}, {"a", "2"}})); }), HasSubstr("twice"));
  ZipEntry entry{"a", noise(100), true};
  entry.bad_crc = 1;
  EXPECT_THAT(refusal([&] { read_all(make_zip({entry})); }), HasSubstr("damaged"));
  entry = {"a", "1"};
  entry.flags = 1;
  EXPECT_THAT(refusal([&] { read_all(make_zip({entry})); }), HasSubstr("encrypted"));
  entry = {"a", "1"};
  entry.method = 14;
  EXPECT_THAT(refusal([&] { read_all(make_zip({entry})); }), HasSubstr("not supported (14)"));
  entry = {"a", "1"};
  entry.directory_name = "b";
  EXPECT_THAT(refusal([&] { read_all(make_zip({entry})); }), HasSubstr("another name"));
}

TEST(ZipArchive, RefusesMembersThatOverlap) {
  // The second member lies within the first one's content.
  const std::string inner = make_zip({{"b", "12345"}});
  std::string zip = make_zip({{"a", inner}, {"b", "12345"}});
  const std::size_t second = zip.rfind(std::string("PK\x01\x02"));
  const std::size_t content = zip.find(inner);
  zip.replace(second + 42, 4, testing::little<std::uint32_t>(content));
  EXPECT_THAT(refusal([&] { read_all(zip); }), HasSubstr("overlap"));
  // Both entries name one member.
  zip = make_zip({{"a", "12345"}, {"b", "12345"}});
  zip.replace(zip.rfind(std::string("PK\x01\x02")) + 42, 4, std::string(4, '\0'));
  EXPECT_THAT(refusal([&] { read_all(zip); }), HasSubstr("another name"));
}

TEST(ZipArchive, ShowsHostileNamesHarmlessly) {
  EXPECT_EQ(shown_name("a\x1b[2J\n"), "a?[2J?");
  EXPECT_EQ(shown_name(std::string(200, 'x')), std::string(100, 'x') + "...");
}

}  // namespace
}  // namespace skyfix
