// The queue of events in simulated time, earliest first.
#pragma once

#include "lib/Timing/DtuCosts.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace st::dtu {

/// Priorities at one instant, in order, as named in docs/dtu-isa.md, "Time".
enum class EventPriority : uint8_t { Arrival, Continue, BeginTask };

struct TimeEvent {
  Picoseconds time;
  uint64_t order; ///< priority, rank, instance or message: 2, 22 and 40 bits

  TimeEvent(Picoseconds time, EventPriority priority, size_t rank, uint64_t index)
      : time(time),
        order(static_cast<uint64_t>(priority) << 62 | static_cast<uint64_t>(rank) << 40 | index) {}

  EventPriority priority() const { return static_cast<EventPriority>(order >> 62); }
  size_t rank() const { return order >> 40 & 0x3fffff; }
  uint64_t index() const { return order & 0xffffffffff; }
  /// Both in one comparison: the next event of a heap cannot be predicted, so branches on it are
  /// slow.
  bool operator<(const TimeEvent &other) const { return key() < other.key(); }

private:
  __extension__ using Key = unsigned __int128;
  Key key() const { return Key(static_cast<uint64_t>(time)) << 64 | order; }
};

/// A heap in which each event has up to four events below it, which share a cache line. The handler
/// of a popped event usually posts the instance's next event, so the slot stays free until then.
class EventQueue {
public:
  bool empty() const { return events.size() == (isFirstTaken ? 1 : 0); }
  const TimeEvent &front() {
    settle();
    return events.front();
  }
  /// Removes the earliest event.
  TimeEvent take() {
    settle();
    isFirstTaken = true;
    return events.front();
  }
  void push(const TimeEvent &event) {
    if (isFirstTaken) {
      isFirstTaken = false;
      sink(0, event);
      return;
    }
    events.push_back(event);
    size_t at = events.size() - 1;
    for (; at > 0 && event < events[above(at)]; at = above(at))
      events[at] = events[above(at)];
    events[at] = event;
  }
  /// All events, in no order.
  const std::vector<TimeEvent> &all() {
    settle();
    return events;
  }
  /// Replaces the events by those that `keep` accepts and the ones in `added`.
  template <typename Keep> void replace(Keep &&keep, const std::vector<TimeEvent> &added) {
    settle();
    events.erase(std::remove_if(events.begin(), events.end(),
                                [&](const TimeEvent &event) { return !keep(event); }),
                 events.end());
    events.insert(events.end(), added.begin(), added.end());
    for (size_t at = events.size() / kBelow + 1; at-- > 0;)
      if (at < events.size())
        sink(at, events[at]);
  }

private:
  static constexpr size_t kBelow = 4;
  static size_t above(size_t at) { return (at - 1) / kBelow; }

  /// The earlier of two events. The sum has no branch, as their order cannot be predicted.
  size_t earlier(size_t a, size_t b) const { return a + (b - a) * (events[b] < events[a]); }
  size_t minOfFour(size_t first) const {
    return earlier(earlier(first, first + 1), earlier(first + 2, first + 3));
  }
  size_t leastFrom(size_t first) const {
    size_t least = first;
    for (size_t other = first + 1; other < events.size(); ++other)
      least = earlier(least, other);
    return least;
  }
  /// Puts `event` at `at` or below.
  void sink(size_t at, TimeEvent event) {
    const size_t size = events.size();
    for (size_t first = kBelow * at + 1; first < size; first = kBelow * at + 1) {
      const size_t least = first + kBelow <= size ? minOfFour(first) : leastFrom(first);
      if (!(events[least] < event))
        break;
      events[at] = events[least];
      at = least;
    }
    events[at] = event;
  }
  /// Fills the place of an event that was taken.
  void settle() {
    if (!isFirstTaken)
      return;
    isFirstTaken = false;
    const TimeEvent last = events.back();
    events.pop_back();
    if (!events.empty())
      sink(0, last);
  }

  std::vector<TimeEvent> events;
  bool isFirstTaken = false; ///< the first event no longer counts
};

} // namespace st::dtu
