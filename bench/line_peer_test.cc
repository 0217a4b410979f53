#include "bench/line_peer.h"

#include <gtest/gtest.h>

#include "skyfix/base/error.h"

namespace skyfix::bench {
namespace {

TEST(LinePeer, AnswersALineForALine) {
  LinePeer peer({"sed", "-u", "s/^/heard /"});
  EXPECT_EQ(peer.ask("one"), "heard one");
  EXPECT_EQ(peer.ask("two words"), "heard two words");
}

TEST(LinePeer, SaysWhenThePeerHasEnded) {
  LinePeer peer({"true"});
  EXPECT_THROW(peer.ask("anybody?"), Error);
}

TEST(LinePeer, SaysWhenThereIsNoSuchProgram) {
  EXPECT_THROW(LinePeer({"no-such-program-anywhere"}), Error);
}

}  // namespace
}  // namespace skyfix::bench
