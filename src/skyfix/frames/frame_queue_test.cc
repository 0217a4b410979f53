#include "skyfix/frames/frame_queue.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace skyfix {
namespace {

SourceFrame frame(std::int64_t index) {
  SourceFrame made;
  made.index = index;
  return made;
}

TEST(FrameQueue, KeepsTheNewestAndCountsWhatItDrops) {
  FrameQueue queue(3, DropPolicy::oldest);
  for (int i = 1; i <= 10; ++i) EXPECT_TRUE(queue.push(frame(i)));
  queue.finish();
  for (int i = 8; i <= 10; ++i) EXPECT_EQ(queue.pop()->index, i);
  EXPECT_FALSE(queue.pop());
  EXPECT_EQ(queue.dropped(), 7);
}

TEST(FrameQueue, TheSenderWaits) {
  FrameQueue queue(2, DropPolicy::block);
  std::thread sender([&] {
    for (int i = 1; i <= 100; ++i) queue.push(frame(i));
    queue.finish();
  });
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(queue.pop()->index, i);
  EXPECT_FALSE(queue.pop());
  EXPECT_EQ(queue.dropped(), 0);
  sender.join();
}

TEST(FrameQueue, AFailureComesAfterTheFramesBeforeIt) {
  FrameQueue queue(4, DropPolicy::oldest);
  queue.push(frame(1));
  queue.finish(std::make_exception_ptr(std::runtime_error("unplugged")));
  EXPECT_EQ(queue.pop()->index, 1);
  EXPECT_THROW(queue.pop(), std::runtime_error);
  EXPECT_THROW(queue.pop(), std::runtime_error);
}

TEST(FrameQueue, StopLetsBothSidesGo) {
  FrameQueue full(1, DropPolicy::block);
  full.push(frame(1));
  std::thread sender([&] { EXPECT_FALSE(full.push(frame(2))); });
  full.stop();
  sender.join();
  EXPECT_FALSE(full.pop());
  FrameQueue empty(1, DropPolicy::oldest);
  std::thread reader([&] { EXPECT_FALSE(empty.pop()); });
  empty.stop();
  reader.join();
  EXPECT_TRUE(empty.stopped());
}

}  // namespace
}  // namespace skyfix
