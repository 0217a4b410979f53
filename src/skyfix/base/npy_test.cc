#include "skyfix/base/npy.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "skyfix/base/error.h"

namespace skyfix {
namespace {
namespace fs = std::filesystem;

class NpyTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = fs::path(testing::TempDir()) /
            ("skyfix_npy_" + std::to_string(::getpid()) + "_" +
             testing::UnitTest::GetInstance()->current_test_info()->name() + ".npy");
  }
  void TearDown() override { fs::remove(file_); }

  // The error's message when `content` is opened as an array; "" when it is taken.
  std::string refusal(const std::string& content) {
    write_file_atomic(file_, content);
    try {
      NpyFile array(file_);
    } catch (const Error& error) {
      EXPECT_EQ(error.reason(), Reason::bad_map);
      EXPECT_EQ(error.file(), file_);
      return error.message();
    }
    return "";
  }

  fs::path file_;
};

// A file of format 1.0 with any dictionary, padded so that the data are aligned.
std::string npy_with(std::string dictionary, const std::string& data = std::string(96, '\0')) {
  while ((10 + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  std::string bytes("\x93NUMPY\x01\0", 8);
  bytes += static_cast<char>(dictionary.size() & 255);
  bytes += static_cast<char>(dictionary.size() >> 8);
  return bytes + dictionary + data;
}

std::string with_shape(const std::string& shape) {
  return npy_with("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }");
}

template <class T>
void expect_round_trip(const fs::path& file, std::vector<T> values) {
  const std::vector<std::size_t> shape = {values.size() / 2, 2};
  write_npy<T>(file, values, shape);
  const NpyFile array(file);
  EXPECT_EQ(array.shape(), shape);
  EXPECT_EQ(array.rows(), values.size() / 2);
  EXPECT_EQ(array.row_size(), 2);
  EXPECT_THAT(array.as<T>(), testing::ElementsAreArray(values));
}

TEST_F(NpyTest, EveryTypeComesBack) {
  expect_round_trip<float>(file_, {1.5f, -2, 3, 4});
  expect_round_trip<double>(file_, {1e300, -2, 3, 4});
  expect_round_trip<std::uint8_t>(file_, {0, 255, 7, 8});
  expect_round_trip<std::uint32_t>(file_, {0, 0xffffffffu, 7, 8});
  expect_round_trip<std::uint64_t>(file_, {0, ~0ull, 7, 8});
  expect_round_trip<std::int64_t>(file_, {-1, 1ll << 62, 7, 8});
}

// The bytes that numpy 1.26 writes for np.arange(3, dtype='<f4').
TEST_F(NpyTest, TheHeaderIsNumpys) {
  const std::size_t shape[] = {3};
  const std::string header = npy::header("<f4", shape);
  const std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  EXPECT_EQ(header.size() % 64, 0);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\0\x76\0", 10));
  EXPECT_EQ(header.substr(10, dictionary.size()), dictionary);
  EXPECT_EQ(header.back(), '\n');
  const std::size_t matrix[] = {3, 4, 5};
  EXPECT_THAT(npy::header("<f8", matrix), testing::HasSubstr("'shape': (3, 4, 5), }"));
}

TEST_F(NpyTest, DataStartOnACacheLine) {
  for (const std::size_t rows : {1u, 12345u, 1u << 30}) {
    const std::size_t shape[] = {rows, 128};
    EXPECT_EQ(npy::header("|u1", shape).size() % 64, 0);
  }
}

TEST_F(NpyTest, FormatTwoIsRead) {
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  while ((12 + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  std::string bytes("\x93NUMPY\x02\0", 8);
  bytes += static_cast<char>(dictionary.size());
  bytes += std::string(3, '\0');
  EXPECT_EQ(refusal(bytes + dictionary + std::string(8, '\0')), "");
  EXPECT_EQ(NpyFile(file_).as<float>().size(), 2);
}

TEST_F(NpyTest, EmptyAndOneDimensionalArrays) {
  const std::size_t none[] = {0, 128};
  write_npy<float>(file_, {}, none);
  EXPECT_EQ(NpyFile(file_).rows(), 0);
  EXPECT_EQ(NpyFile(file_).row_size(), 128);
  EXPECT_TRUE(NpyFile(file_).as<float>().empty());
  EXPECT_EQ(refusal(with_shape("(24,)")), "");
  EXPECT_EQ(NpyFile(file_).row_size(), 1);
  EXPECT_EQ(NpyFile(file_).count(), 24);
}

TEST_F(NpyTest, AnotherTypeIsRefusedWithBothNames) {
  expect_round_trip<float>(file_, {1, 2});
  try {
    NpyFile(file_).as<std::uint32_t>();
    FAIL() << "floats were read as integers";
  } catch (const Error& error) {
    EXPECT_EQ(error.reason(), Reason::bad_map);
    EXPECT_THAT(error.message(),
                testing::AllOf(testing::HasSubstr("<f4"), testing::HasSubstr("<u4")));
  }
}

TEST_F(NpyTest, CutFilesAreRefusedAtEveryLength) {
  const std::string whole = with_shape("(4, 6)");
  ASSERT_EQ(refusal(whole), "");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal(whole.substr(0, size)), "") << "cut to " << size << " bytes";
  }
}

TEST_F(NpyTest, ShapesLargerThanTheDataAreRefused) {
  for (const char* shape :
       {"(25,)", "(5, 5)", "(4294967296, 4294967296)", "(4611686018427387904, 4)",
        "(9223372036854775807, 2)", "(2, 9223372036854775807, 9223372036854775807)"}) {
    EXPECT_NE(refusal(with_shape(shape)), "") << shape;
  }
}

TEST_F(NpyTest, NonsenseShapesAreRefused) {
  for (const char* shape :
       {"(-1,)", "(2.5,)", "(two,)", "3", "(3", "[3]", "", "(18446744073709551616,)",
        "(3, -9223372036854775808)", "(+ 3,)", "(0x3,)"}) {
    EXPECT_NE(refusal(with_shape(shape)), "") << shape;
  }
}

TEST_F(NpyTest, OtherTypesAndOrdersAreRefused) {
  for (const char* descr : {"'>f4'", "'<f2'", "'<c8'", "'|O'", "'<f45'", "<f4", "''", "'",
                            "[('a', '<f4')]", "\"<f4\"", "'|S9999999'"}) {
    EXPECT_NE(refusal(npy_with(std::string("{'descr': ") + descr +
                               ", 'fortran_order': False, 'shape': (2,), }")),
              "")
        << descr;
  }
  EXPECT_THAT(refusal(npy_with("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }")),
              testing::HasSubstr("Fortran"));
}

TEST_F(NpyTest, MissingKeysAndForeignBytesAreRefused) {
  EXPECT_THAT(refusal(npy_with("{'fortran_order': False, 'shape': (2,), }")),
              testing::HasSubstr("descr"));
  EXPECT_THAT(refusal(npy_with("{'descr': '<f4', 'shape': (2,), }")),
              testing::HasSubstr("fortran_order"));
  EXPECT_THAT(refusal(npy_with("{'descr': '<f4', 'fortran_order': False, }")),
              testing::HasSubstr("shape"));
  EXPECT_THAT(refusal("PK\x03\x04 an .npz is a zip"), testing::HasSubstr("magic"));
  EXPECT_THAT(refusal(std::string("\x93NUMPY\x03\0\x10\0\0\0", 12) + std::string(80, ' ')),
              testing::HasSubstr("version"));
}

TEST_F(NpyTest, AHeaderLongerThanTheFileIsRefused) {
  EXPECT_NE(refusal(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12) + std::string(80, ' ')), "");
  EXPECT_NE(refusal(std::string("\x93NUMPY\x01\0\xff\xff", 10) + std::string(80, ' ')), "");
}

TEST_F(NpyTest, DataThatAreNotAlignedAreRefused) {
  const std::string dictionary = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
  std::string bytes("\x93NUMPY\x01\0", 8);
  bytes += static_cast<char>(dictionary.size());
  bytes += '\0';
  ASSERT_NE((10 + dictionary.size()) % 8, 0);
  EXPECT_THAT(refusal(bytes + dictionary + std::string(16, '\0')), testing::HasSubstr("aligned"));
}

}  // namespace
}  // namespace skyfix
