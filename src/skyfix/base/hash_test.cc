#include "skyfix/base/hash.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "skyfix/base/error.h"
#include "skyfix/base/file.h"

namespace skyfix {
namespace {

constexpr std::string_view kLong = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

// Vectors of FIPS 180-4's examples.
TEST(Hash, Sha256OfThePublishedVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(kLong), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Hash, Sha1OfThePublishedVectors) {
  EXPECT_EQ(sha1_hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(sha1_hex(kLong), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

TEST(Hash, AFileHasTheDigestOfItsBytes) {
  const std::filesystem::path file =
      std::filesystem::path(testing::TempDir()) / ("skyfix_hash_" + std::to_string(::getpid()));
  const std::string content("a\0b", 3);
  write_file_atomic(file, content);
  EXPECT_EQ(sha256_hex_of_file(file), sha256_hex(content));
  EXPECT_NE(sha256_hex_of_file(file), sha256_hex("a"));
  std::filesystem::remove(file);
  EXPECT_THROW(sha256_hex_of_file(file), Error);
}

}  // namespace
}  // namespace skyfix
