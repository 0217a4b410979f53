#include "skyfix/memory/owner_scope.h"

#include <gtest/gtest.h>

#include <thread>

namespace skyfix {
namespace {

TEST(OwnerScope, TheInnermostOfTheThreadCounts) {
  EXPECT_EQ(OwnerScope::current(), "");
  {
    const OwnerScope outer("outer");
    {
      const OwnerScope inner("inner");
      EXPECT_EQ(OwnerScope::current(), "inner");
      std::thread([] { EXPECT_EQ(OwnerScope::current(), ""); }).join();
    }
    EXPECT_EQ(OwnerScope::current(), "outer");
  }
  EXPECT_EQ(OwnerScope::current(), "");
}

}  // namespace
}  // namespace skyfix
