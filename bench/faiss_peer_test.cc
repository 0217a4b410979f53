#include "bench/faiss_peer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace skyfix::bench {
namespace {

TEST(FaissPeer, WhereItIsMissingTheReasonNamesTheFile) {
  const FaissPeerLibrary library = open_faiss_peer("/nowhere/libskyfix_faiss_peer.so");
  EXPECT_EQ(library.peer, nullptr);
  EXPECT_THAT(library.why_not, ::testing::HasSubstr("/nowhere/libskyfix_faiss_peer.so"));
}

TEST(FaissPeer, AnotherLibraryIsRefused) {
  const FaissPeerLibrary library = open_faiss_peer("libm.so.6");
  EXPECT_EQ(library.peer, nullptr);
  EXPECT_THAT(library.why_not, ::testing::HasSubstr("another version"));
}

TEST(FaissPeer, MultipliesAndSearches) {
  ASSERT_NE(faiss_peer().peer, nullptr) << faiss_peer().why_not;
  const FaissPeer& peer = *faiss_peer().peer;
  peer.set_threads(1);
  const std::vector<float> query = {1, 0, 0, 2};      // 2 x 2
  const std::vector<float> map = {3, 1, 1, 4, 0, 5};  // 3 x 2
  std::vector<float> products(6), score(2);
  std::vector<std::int64_t> index(2);
  peer.product_matrix(query.data(), 2, map.data(), 3, 2, products.data());
  EXPECT_THAT(products, ::testing::ElementsAre(3, 1, 0, 2, 8, 10));
  peer.best_products(query.data(), 2, map.data(), 3, 2, score.data(), index.data());
  EXPECT_THAT(score, ::testing::ElementsAre(3, 10));
  EXPECT_THAT(index, ::testing::ElementsAre(0, 2));
  EXPECT_THAT(peer.versions(), ::testing::HasSubstr("FAISS"));
}

}  // namespace
}  // namespace skyfix::bench
