// Memory accesses in the proof of order: finds races, and the messages that must return to order
// two accesses.
#include "backends/dtu/isa/order/OrderProof.h"

#include <algorithm>
#include <map>

namespace st::dtu {

absl::Status OrderProof::access(size_t index, const Address &address, StridedBytes::Dims dims,
                                int64_t width, bool isWrite, int64_t multicast) {
  const StreamWalker &walker = instances[index].walker;
  MemoryAccess current{StridedBytes(walker.value(address.offset), std::move(dims), width), index,
                       clocks[index][index], walker.pc, isWrite};
  if (current.bytes.empty())
    return absl::OkStatus();
  bool isCore = walker.stream->engine == Engine::Core;
  int64_t memory = address.space == Space::L3     ? kMemoryL3
                   : address.space == Space::L2   ? kMemoryL2
                   : address.space == Space::Host ? kMemoryHost
                   : isCore                       ? walker.number
                                                  : walker.value(address.core);
  if (memory == kMemoryL3 || memory == kMemoryHost)
    touched.add(instances[index].stream, current.pc, isWrite, memory, current.bytes);
  for (int64_t i = 0; i < multicast; ++i) {
    int64_t place = memory < 0 ? memory : memory + i;
    AccessHistory &history = memories[place];
    races.clear();
    executed += static_cast<int64_t>(history.find(current, clocks[index], races) / 32);
    if (history.isForgotten(current, clocks[index]) && joins) {
      isUncertain = true;
      return error(index, "may race with an earlier access that is no longer recorded");
    }
    for (const AccessHistory::Race &race : races)
      if (absl::Status status = noteRace(current, place, race); !status.ok())
        return status;
    if (periodic->follows())
      periodic->access(current, place, address);
    history.add(current, joins && place == kMemoryL3 && walker.stream->engine == Engine::Dte);
    if (history.isFull())
      history.forget(minClocks(), joins);
  }
  return absl::OkStatus();
}

std::string OrderProof::describe(const OpenRace &race) const {
  const StridedBytes &mine = race.access.bytes;
  return absl::StrCat(
      placeOf(race.access.instance, race.access.pc), ": ", race.access.isWrite ? "writes" : "reads",
      " bytes ", mine.low, " to ", mine.high - 1, " of ", memoryName(race.memory), ", and ",
      placeOf(race.instance, race.pc), race.isWrite ? " writes " : " reads ", race.bytes.low,
      " to ", race.bytes.high - 1, "; no synchronisation orders them");
}

/// Other ranks may still guarantee the order: a message arrives only after the data from which it
/// was computed was sent.
absl::Status OrderProof::noteRace(const MemoryAccess &access, int64_t memory,
                                  const AccessHistory::Race &race) {
  isUncertain |= race.box->first != race.box->last || periodic->isDoubtful(race.trail->instance);
  periodic->disturb();
  size_t index = access.instance;
  int64_t known = receiver ? receivesKnownTo(index) : 0;
  bool isReceive = receiver == index;
  OpenRace open{access,         race.box->all,       memory,         race.trail->instance,
                race.trail->pc, race.trail->isWrite, race.box->last, known + isReceive};
  if (open.receives == 0)
    return absl::InvalidArgumentError(describe(open));
  returns.push_back(std::move(open));
  return absl::OkStatus();
}

int64_t OrderProof::receivesKnownTo(size_t index) const {
  if (index == *receiver)
    return static_cast<int64_t>(receives.size()) - 1;
  return std::upper_bound(receiveTimes.begin(), receiveTimes.end(), clocks[index][*receiver]) -
         receiveTimes.begin();
}

/// Converts each open race to the numbers of sends and receives that would order it.
absl::Status OrderProof::resolveReturns(ProgramOrder &order) const {
  std::map<size_t, ReturnNeeded> needed;
  for (const OpenRace &race : returns) {
    auto found = std::partition_point(sends.begin(), sends.end(), [&](const SentMessage &send) {
      return send.clock[race.instance] < race.time;
    });
    if (found == sends.end())
      return absl::InvalidArgumentError(describe(race));
    size_t count = static_cast<size_t>(found - sends.begin()) + 1;
    ReturnNeeded &most = needed[static_cast<size_t>(race.receives)];
    if (most.sends < count)
      most = {count, static_cast<size_t>(race.receives), describe(race)};
  }
  for (auto &entry : needed)
    order.returns.push_back(std::move(entry.second));
  return absl::OkStatus();
}

/// A lower bound of each instance's clock at its next memory access.
std::vector<VectorClock> OrderProof::minClocks() const {
  std::vector<VectorClock> least = clocks;
  for (const BarrierState &barrier : barriers)
    for (size_t one : barrier.waiting)
      for (size_t other : barrier.waiting)
        join(least[one], clocks[other]);
  // A waiting instance will know at least of the accesses that its signalling instance knows of
  // now. The signalling instance may be waiting as well.
  for (int round = 0; round < 2; ++round)
    for (size_t i = 0; i < instances.size(); ++i) {
      if (instances[i].walker.isDone())
        least[i].assign(instances.size(), UINT32_MAX);
      if (!instances[i].waitsForSemaphore)
        continue;
      const SemaphoreState &semaphore = semaphores[instances[i].waitsFor];
      for (const Signaller &signaller : semaphore.signallers)
        if (signaller.instance != i)
          join(least[i], clocks[signaller.instance]);
    }
  return least;
}

} // namespace st::dtu
