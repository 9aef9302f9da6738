#include "st/Runtime/Event.h"

#include <gtest/gtest.h>
#include <thread>

namespace st {
namespace {

TEST(EventTest, CopiesShareOneState) {
  Event event, copy = event;
  EXPECT_FALSE(copy.isReady());
  std::thread worker([event]() mutable { event.set(absl::AbortedError("lost")); });
  EXPECT_EQ(copy.wait().message(), "lost");
  EXPECT_TRUE(event.isReady());
  worker.join();
}

TEST(EventTest, CompletedIsReady) {
  EXPECT_TRUE(Event::completed(absl::OkStatus()).isReady());
  EXPECT_TRUE(Event::completed(absl::OkStatus()).wait().ok());
}

} // namespace
} // namespace st
