#include "backends/cuda/runtime/communication/Exchange.h"

#include "gtest/gtest.h"

#include <thread>

namespace st::cuda {
namespace {

TEST(Exchange, MessagesOfAChannelKeepTheirOrder) {
  Exchange exchange(2);
  exchange.begin();
  exchange.send({0, 1, 7}, {nullptr, 100, 4, Mark()});
  exchange.send({0, 1, 8}, {nullptr, 200, 4, Mark()});
  exchange.send({0, 1, 7}, {nullptr, 300, 4, Mark()});
  EXPECT_EQ(exchange.receive({0, 1, 7})->place, 100u);
  EXPECT_EQ(exchange.receive({0, 1, 7})->place, 300u);
  EXPECT_EQ(exchange.receive({0, 1, 8})->place, 200u);
}

TEST(Exchange, MembersMeetMoreThanOnce) {
  Exchange exchange(2);
  exchange.begin();
  int seen = 0, written = 0;
  auto meet = [&](int64_t rank, Address brings) {
    auto found = exchange.meet({0, 1}, rank, {brings, 0, 4, Mark()});
    ASSERT_TRUE(found.ok());
    EXPECT_EQ((*found)[0].first, 100u);
    EXPECT_EQ((*found)[1].first, 200u);
  };
  std::thread other([&] {
    meet(1, 200);
    written = 1;
    meet(1, 200);
    exchange.end(absl::OkStatus());
  });
  meet(0, 100);
  meet(0, 100);
  seen = written;
  exchange.end(absl::OkStatus());
  other.join();
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(exchange.status().ok());
}

// No sender is left.
TEST(Exchange, WaitingForEachOtherIsAnError) {
  Exchange exchange(2);
  exchange.begin();
  std::thread other([&] { exchange.end(exchange.receive({0, 1, 0}).status()); });
  exchange.end(exchange.receive({1, 0, 0}).status());
  other.join();
  EXPECT_EQ(exchange.status().message(), "the program cannot continue: 2 of 2 ranks wait for "
                                         "messages that no rank sends; the others have ended");
}

TEST(Exchange, AFailedRankEndsTheOthersWait) {
  Exchange exchange(3);
  exchange.begin();
  std::thread first([&] { exchange.end(exchange.meet({0, 1, 2}, 0, {}).status()); });
  std::thread second([&] { exchange.end(exchange.meet({0, 1, 2}, 1, {}).status()); });
  exchange.end(absl::UnavailableError("a GPU failed"));
  first.join();
  second.join();
  EXPECT_EQ(exchange.status().message(), "a GPU failed");
}

} // namespace
} // namespace st::cuda
