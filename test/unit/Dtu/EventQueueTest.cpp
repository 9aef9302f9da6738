// The queue of events against a sorted set, for times that are close, equal and far apart.
#include "backends/dtu/simulator/time/EventQueue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace st::dtu {
namespace {

TimeEvent eventAt(Picoseconds time, uint64_t index) {
  return {time, EventPriority::Continue, static_cast<size_t>(index % 64), index};
}

bool isSame(const TimeEvent &a, const TimeEvent &b) { return !(a < b) && !(b < a); }

/// Takes and adds `steps` events, which come up to `spread` later than the event taken, and
/// sometimes replaces those of a rank.
void compareWithSet(int64_t spread, size_t size, int steps) {
  std::mt19937_64 random(7);
  EventQueue queue;
  std::set<TimeEvent> expected;
  uint64_t made = 0;
  auto create = [&](Picoseconds from) {
    const bool isFar = random() % 32 == 0;
    const auto wait = static_cast<int64_t>(random() % static_cast<uint64_t>(spread));
    return eventAt(from + (isFar ? 1000 : 1) * (wait / 4 * 4), made++);
  };
  auto add = [&](const TimeEvent &event) {
    queue.push(event);
    expected.insert(event);
  };
  for (size_t i = 0; i < size; ++i)
    add(create(0));
  for (int step = 0; step < steps; ++step) {
    ASSERT_FALSE(queue.empty());
    ASSERT_TRUE(isSame(queue.front(), *expected.begin())) << "step " << step;
    const TimeEvent event = queue.take();
    ASSERT_TRUE(isSame(event, *expected.begin())) << "step " << step;
    expected.erase(expected.begin());
    if (step % 997 == 0) {
      const size_t rank = event.rank();
      std::vector<TimeEvent> added;
      for (auto it = expected.begin(); it != expected.end();)
        if (it->rank() == rank) {
          added.push_back(create(event.time));
          it = expected.erase(it);
        } else {
          ++it;
        }
      queue.replace([&](const TimeEvent &other) { return other.rank() != rank; }, added);
      expected.insert(added.begin(), added.end());
      std::vector<TimeEvent> all = queue.all();
      ASSERT_EQ(all.size(), expected.size());
      std::sort(all.begin(), all.end());
      ASSERT_TRUE(std::equal(all.begin(), all.end(), expected.begin(), isSame)) << "step " << step;
    }
    add(create(event.time));
  }
  while (!expected.empty()) {
    ASSERT_FALSE(queue.empty());
    ASSERT_TRUE(isSame(queue.take(), *expected.begin()));
    expected.erase(expected.begin());
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, TakesEventsInOrder) { compareWithSet(1000000, 500, 100000); }

// Many events in one day, so that days become shorter.
TEST(EventQueue, ShortensDays) { compareWithSet(2000, 500, 100000); }

// Most events are further ahead than all lists, so days become longer.
TEST(EventQueue, LengthensDays) { compareWithSet(int64_t(1) << 40, 500, 100000); }

TEST(EventQueue, FewEvents) {
  compareWithSet(1000000, 1, 20000);
  compareWithSet(int64_t(1) << 45, 3, 20000);
}

TEST(EventQueue, EqualTimesAreInOrderOfRanks) {
  EventQueue queue;
  for (uint64_t index = 100; index-- > 0;)
    queue.push({5, EventPriority::Arrival, static_cast<size_t>(index), index});
  queue.push({5, EventPriority::BeginTask, 0, 0});
  queue.push({5, EventPriority::Continue, 0, 0});
  for (uint64_t index = 0; index < 100; ++index)
    EXPECT_EQ(queue.take().index(), index);
  EXPECT_EQ(queue.take().priority(), EventPriority::Continue);
  EXPECT_EQ(queue.take().priority(), EventPriority::BeginTask);
  EXPECT_TRUE(queue.empty());
}

// An event may come before one that was looked at but not taken.
TEST(EventQueue, TakesAnEventAddedBeforeTheFirst) {
  EventQueue queue;
  queue.push(eventAt(1000000000, 1));
  EXPECT_EQ(queue.front().index(), 1u);
  queue.push(eventAt(10, 2));
  EXPECT_EQ(queue.front().index(), 2u);
  EXPECT_EQ(queue.take().index(), 2u);
  EXPECT_EQ(queue.take().index(), 1u);
}

} // namespace
} // namespace st::dtu
