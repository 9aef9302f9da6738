// The queue of events in simulated time, earliest first.
#pragma once

#include "lib/Timing/DtuCosts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
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
  /// Compares time and order in one comparison. The result is unpredictable, so two branches would
  /// be slow.
  bool operator<(const TimeEvent &other) const { return key() < other.key(); }
  bool operator>(const TimeEvent &other) const { return other < *this; }

private:
  __extension__ using Key = unsigned __int128;
  Key key() const { return Key(static_cast<uint64_t>(time)) << 64 | order; }
};

/// A calendar queue (R. Brown, Communications of the ACM 31, 1988): time is divided into days of
/// equal length, and the events of each of the next kDays days are in an unsorted list. Only the
/// events of the current day are sorted. Events further ahead are in a heap.
class EventQueue {
public:
  EventQueue() { first.fill(kNone); }

  bool empty() const { return today.empty() && listed == 0 && later.empty(); }
  const TimeEvent &front() {
    if (today.empty())
      beginDay();
    return today.back();
  }
  /// Removes the earliest event.
  TimeEvent take() {
    const TimeEvent event = front();
    today.pop_back();
    return event;
  }
  void push(TimeEvent event) {
    const int64_t day = event.time >> shift;
    if (day <= current)
      addToday(event);
    else if (day - current < kDays)
      addToDay(event, static_cast<size_t>(day));
    else
      addLater(event);
  }
  /// All events, in no order.
  std::vector<TimeEvent> all() const {
    std::vector<TimeEvent> events = today;
    events.insert(events.end(), later.begin(), later.end());
    eachList([&](size_t list) {
      for (uint32_t at = first[list]; at != kNone; at = nodes[at].next)
        events.push_back(nodes[at].event);
    });
    return events;
  }
  /// Replaces the events by those that `keep` accepts and the ones in `added`.
  template <typename Keep> void replace(Keep &&keep, const std::vector<TimeEvent> &added) {
    auto removeFrom = [&](std::vector<TimeEvent> &events) {
      events.erase(std::remove_if(events.begin(), events.end(),
                                  [&](const TimeEvent &event) { return !keep(event); }),
                   events.end());
    };
    removeFrom(today);
    removeFrom(later);
    std::make_heap(later.begin(), later.end(), std::greater<>());
    eachList([&](size_t list) {
      uint32_t *link = &first[list];
      while (*link != kNone)
        if (const uint32_t at = *link; keep(nodes[at].event)) {
          link = &nodes[at].next;
        } else {
          *link = nodes[at].next;
          release(at);
        }
      if (first[list] == kNone)
        markUnused(list);
    });
    for (const TimeEvent &event : added)
      push(event);
  }

private:
  struct Node {
    TimeEvent event;
    uint32_t next;
  };
  static constexpr int64_t kDays = 4096;
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  /// Days with events between two examinations of the length of a day.
  static constexpr int64_t kDaysBetween = 1 << 13;

  /// Days that are equal modulo kDays share a list. At most one of them is near.
  static size_t listOf(int64_t day) { return static_cast<size_t>(day) % kDays; }
  template <typename Visit> void eachList(Visit &&visit) const {
    for (size_t word = 0; word < used.size(); ++word)
      for (uint64_t lists = used[word]; lists != 0; lists &= lists - 1)
        visit(word * 64 + static_cast<size_t>(__builtin_ctzll(lists)));
  }
  void markUnused(size_t list) { used[list / 64] &= ~(uint64_t(1) << list % 64); }

  /// An event that is due soon is near the end, so the insertion moves few others.
  void addToday(TimeEvent event) {
    today.push_back(event);
    size_t at = today.size() - 1;
    for (; at > 0 && today[at - 1] < event; --at)
      today[at] = today[at - 1];
    moved += static_cast<int64_t>(today.size() - 1 - at);
    today[at] = event;
  }
  void addToDay(TimeEvent event, size_t day) {
    const size_t list = day % kDays;
    uint32_t at = unused;
    if (at == kNone) {
      at = static_cast<uint32_t>(nodes.size());
      nodes.push_back({event, first[list]});
    } else {
      unused = nodes[at].next;
      nodes[at] = {event, first[list]};
    }
    first[list] = at;
    used[list / 64] |= uint64_t(1) << list % 64;
    ++listed;
  }
  void addLater(TimeEvent event) {
    ++postponed;
    later.push_back(event);
    std::push_heap(later.begin(), later.end(), std::greater<>());
  }
  void release(uint32_t node) {
    nodes[node].next = unused;
    unused = node;
    --listed;
  }

  /// The first day after the current one that has a list; there is one.
  int64_t nextListed() const {
    const size_t start = listOf(current + 1);
    size_t word = start / 64;
    uint64_t lists = used[word] >> start % 64 << start % 64;
    while (lists == 0) {
      word = (word + 1) % used.size();
      lists = used[word];
    }
    const size_t list = word * 64 + static_cast<size_t>(__builtin_ctzll(lists));
    return current + 1 + static_cast<int64_t>((list - start) % kDays);
  }
  /// Advances to the next day that has events.
  void beginDay() {
    if (--daysLeft == 0)
      adjustDays();
    current = listed > 0 ? nextListed() : std::numeric_limits<int64_t>::max();
    if (!later.empty())
      current = std::min(current, later.front().time >> shift);
    while (!later.empty() && later.front().time >> shift == current) {
      addToday(later.front());
      std::pop_heap(later.begin(), later.end(), std::greater<>());
      later.pop_back();
    }
    const size_t list = listOf(current);
    for (uint32_t at = first[list]; at != kNone;) {
      const uint32_t next = nodes[at].next;
      addToday(nodes[at].event);
      release(at);
      at = next;
    }
    first[list] = kNone;
    markUnused(list);
  }
  /// Halves the days if many events move when theirs is sorted, or doubles them if many events are
  /// further ahead than all lists. Called between two days.
  void adjustDays() {
    daysLeft = kDaysBetween;
    const int change = postponed > kDaysBetween / 8 ? 1 : moved > 2 * kDaysBetween ? -1 : 0;
    if (change != 0 && shift + change >= 0) {
      const std::vector<TimeEvent> events = all();
      shift += change;
      first.fill(kNone);
      used.fill(0);
      nodes.clear();
      later.clear();
      unused = kNone;
      listed = 0;
      current = std::numeric_limits<int64_t>::max();
      for (const TimeEvent &event : events)
        current = std::min(current, (event.time >> shift) - 1);
      for (const TimeEvent &event : events)
        push(event);
    }
    moved = postponed = 0;
  }

  std::vector<TimeEvent> today;               ///< up to the current day, the latest first
  int64_t current = -1;                       ///< day
  int shift = 14;                             ///< a day has 1 << shift picoseconds
  std::array<uint32_t, kDays> first;          ///< the first node of each list
  std::array<uint64_t, kDays / 64> used = {}; ///< a bit for each list, set if it has nodes
  std::vector<Node> nodes;
  uint32_t unused = kNone; ///< the first node in no list
  size_t listed = 0;       ///< number of nodes in lists
  std::vector<TimeEvent> later;
  int64_t daysLeft = kDaysBetween;  ///< until the length of a day is examined
  int64_t moved = 0, postponed = 0; ///< events since then
};

} // namespace st::dtu
