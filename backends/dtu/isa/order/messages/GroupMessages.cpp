#include "backends/dtu/isa/order/messages/GroupMessages.h"

#include "absl/container/flat_hash_map.h"

#include <tuple>

namespace st::dtu {
namespace {

class Closing {
public:
  Closing(int64_t first, const std::vector<RankEvents> &events)
      : first(first), events(events), done(events.size()), phases(1) {
    for (size_t rank = 0; rank < events.size(); ++rank)
      ready.push_back(rank);
  }

  std::optional<GroupMessages> run();

private:
  struct Queue {
    std::vector<int64_t> bytes; ///< of each message sent
    size_t received = 0;
    bool isAwaited = false;
  };

  bool isInner(const LinkEvent &event) const {
    return event.peer >= first && event.peer < first + static_cast<int64_t>(events.size());
  }
  Queue &queueOf(int64_t source, int64_t destination, int64_t channel) {
    return queues[{source, destination, channel}];
  }
  /// Advances a rank until it waits or ends; returns false if a message has the wrong size.
  bool advance(size_t rank);

  const int64_t first;
  const std::vector<RankEvents> &events;
  std::vector<size_t> done;           ///< processed events of each rank
  std::vector<size_t> ready, outside; ///< `outside`: ranks that wait for other groups
  absl::flat_hash_map<std::tuple<int64_t, int64_t, int64_t>, Queue> queues;
  std::vector<GroupMessages::Phase> phases;
  int64_t inner = 0;
};

bool Closing::advance(size_t rank) {
  const int64_t self = first + static_cast<int64_t>(rank);
  for (size_t &at = done[rank]; at < events[rank]->size(); ++at) {
    const LinkEvent &event = (*events[rank])[at];
    if (!isInner(event)) {
      if (!event.isSend) {
        outside.push_back(rank);
        return true;
      }
      phases.back().sends.push_back({self, event.peer, event.channel, event.bytes});
      continue;
    }
    if (event.isSend) {
      Queue &queue = queueOf(self, event.peer, event.channel);
      queue.bytes.push_back(event.bytes);
      if (queue.isAwaited)
        ready.push_back(static_cast<size_t>(event.peer - first));
      queue.isAwaited = false;
      continue;
    }
    Queue &queue = queueOf(event.peer, self, event.channel);
    queue.isAwaited = queue.received == queue.bytes.size();
    if (queue.isAwaited)
      return true;
    if (queue.bytes[queue.received++] != event.bytes)
      return false;
    ++inner;
  }
  return true;
}

std::optional<GroupMessages> Closing::run() {
  for (;;) {
    while (!ready.empty()) {
      size_t rank = ready.back();
      ready.pop_back();
      if (!advance(rank))
        return std::nullopt;
    }
    if (outside.empty())
      break;
    phases.emplace_back();
    for (size_t rank : outside) {
      const LinkEvent &event = (*events[rank])[done[rank]++];
      phases.back().receives.push_back(
          {first + static_cast<int64_t>(rank), event.peer, event.channel, event.bytes});
    }
    ready.swap(outside);
  }
  for (size_t rank = 0; rank < events.size(); ++rank)
    if (done[rank] < events[rank]->size())
      return std::nullopt;
  for (const auto &[route, queue] : queues)
    if (queue.received < queue.bytes.size())
      return std::nullopt;
  return GroupMessages{std::move(phases), inner};
}

} // namespace

std::optional<GroupMessages> closeTask(int64_t first, const std::vector<RankEvents> &events) {
  return Closing(first, events).run();
}

} // namespace st::dtu
