#include "backends/dtu/isa/order/Stretches.h"

#include "absl/hash/hash.h"

#include <algorithm>
#include <utility>

namespace st::dtu {
namespace {

/// The number of instructions of a stream that are hashed to look up known stretches. With fewer,
/// many stretches have the same hash and must be compared. With more, stretches that end earlier
/// are not found.
constexpr size_t kHashed = 16;

bool isDone(const InstanceState &instance) { return instance.walker.isDone(); }

} // namespace

void StretchMemory::take(StretchMemory other) {
  for (auto &[hash, known] : other.stretches)
    for (std::shared_ptr<const OrderStretch> &stretch : known)
      keep(hash, std::move(stretch));
}

//===----------------------------------------------------------------------===//
// Quiet states
//===----------------------------------------------------------------------===//

Stretches::Stretches(const StretchCode &code, const RunView &view, StretchMemory &memory,
                     OrderState &state)
    : code(code), view(view), memory(memory), state(state), isUsed(state.semaphores.size()),
      barrierUsers(state.barriers.size()) {
  for (const InstanceState &instance : state.instances)
    streamOf.push_back(instance.stream);
  for (std::vector<bool> &users : barrierUsers)
    users.resize(state.instances.size());
}

/// An instance that waits for a semaphore wakes by a signal of another one. So if all running
/// instances know of all accesses, the waiting ones know of them when they wake.
bool Stretches::isQuiet() const {
  for (const InstanceState &instance : state.instances)
    if (instance.walker.openLoops > 0)
      return false;
  for (const BarrierState &barrier : state.barriers)
    if (!barrier.waiting.empty())
      return false;
  // Registers that no instruction sets keep their values.
  RegisterSet constant;
  for (uint8_t reg : {kZero, kInstance, kMicroBatch, kRank})
    constant.set(reg);
  for (size_t i = 0; i < state.instances.size(); ++i) {
    const InstanceState &instance = state.instances[i];
    const StreamWalker &walker = instance.walker;
    if ((code.registers[instance.stream].live[walker.pc] & ~constant).any())
      return false;
    if (isDone(instance) || instance.waitsForSemaphore)
      continue;
    const VectorClock &clock = state.clocks[i];
    for (const auto &memory : state.memories)
      if (!memory.second.isKnown(i, clock))
        return false;
    if (!state.receiveTimes.empty() && state.receiver != i &&
        clock[*state.receiver] < state.receiveTimes.back())
      return false;
  }
  return true;
}

void Stretches::normalise() {
  for (auto &memory : state.memories)
    memory.second.forgetAll();
  state.touched.clear();
  // The proof does not depend on the order in which they run.
  std::sort(state.ready.begin(), state.ready.end());
  std::sort(state.late.begin(), state.late.end());
  // Every instance knows of all past accesses, and of no later one.
  VectorClock past(state.instances.size());
  for (size_t i = 0; i < past.size(); ++i)
    past[i] = state.clocks[i][i] - 1;
  for (size_t i = 0; i < past.size(); ++i) {
    const uint32_t now = state.clocks[i][i];
    state.clocks[i] = past;
    state.clocks[i][i] = now;
  }
  for (SemaphoreState &semaphore : state.semaphores)
    for (Signaller &signaller : semaphore.signallers)
      signaller.tokens.assign(1, {signaller.given, past});
}

OrderStretch::Point Stretches::pointOf(size_t index) const {
  const InstanceState &instance = state.instances[index];
  return {instance.walker.pc, instance.waitsForSemaphore, instance.waitsFor};
}

uint64_t Stretches::hash() const {
  uint64_t hash = absl::HashOf(state.ready, state.late);
  std::vector<uint32_t> seen(code.places.size(), UINT32_MAX);
  for (const std::deque<size_t> *queue : {&state.ready, &state.late})
    for (size_t index : *queue) {
      const InstanceState &instance = state.instances[index];
      const uint32_t pc = instance.walker.pc;
      if (std::exchange(seen[instance.stream], pc) == pc)
        continue;
      const std::vector<CodePlace> &places = code.places[instance.stream];
      for (size_t i = pc; i < std::min(places.size(), pc + kHashed); ++i)
        hash = absl::HashOf(hash, places[i].form);
    }
  return hash;
}

//===----------------------------------------------------------------------===//
// Known stretches
//===----------------------------------------------------------------------===//

bool Stretches::isAtStart(const OrderStretch &stretch, Starts &starts) const {
  if (stretch.instances.size() != state.instances.size() ||
      stretch.slices.size() != code.places.size() || stretch.readyBefore != state.ready ||
      stretch.lateBefore != state.late)
    return false;
  starts.assign(stretch.slices.size(), UINT32_MAX);
  for (size_t i = 0; i < streamOf.size(); ++i) {
    if (stretch.instances[i].takesPart)
      starts[streamOf[i]] = std::min(starts[streamOf[i]], state.instances[i].walker.pc);
  }
  for (size_t i = 0; i < streamOf.size(); ++i) {
    const OrderStretch::Instance &known = stretch.instances[i];
    const InstanceState &instance = state.instances[i];
    if (!known.takesPart) {
      // It must not take part here either.
      if (isDone(instance))
        continue;
      if (!instance.waitsForSemaphore ||
          std::any_of(
              stretch.semaphores.begin(), stretch.semaphores.end(),
              [&](const OrderStretch::Semaphore &used) { return used.at == instance.waitsFor; }))
        return false;
      continue;
    }
    const OrderStretch::Slice &slice = stretch.slices[streamOf[i]];
    if (instance.walker.pc - starts[streamOf[i]] != known.from.pc - slice.first ||
        instance.waitsForSemaphore != known.from.waits ||
        (known.from.waits && instance.waitsFor != known.from.waitsFor))
      return false;
  }
  return true;
}

bool Stretches::hasCode(const OrderStretch &stretch, const Starts &starts) const {
  const std::vector<Stream> &streams = code.program->streams,
                            &others = stretch.code->program->streams;
  for (size_t s = 0; s < streams.size(); ++s) {
    if (streams[s].engine != others[s].engine || streams[s].first != others[s].first ||
        streams[s].count != others[s].count)
      return false;
    const OrderStretch::Slice &slice = stretch.slices[s];
    if (starts[s] == UINT32_MAX || (stretch.code == &code && starts[s] == slice.first))
      continue;
    const std::vector<CodePlace> &here = code.places[s], &there = stretch.code->places[s];
    if (here.size() - starts[s] < slice.last - slice.first ||
        !std::equal(
            there.begin() + slice.first, there.begin() + slice.last, here.begin() + starts[s],
            [](const CodePlace &a, const CodePlace &b) { return a.form == b.form; }))
      return false;
  }
  // Instances end at the same instructions as in the known stretch.
  for (size_t i = 0; i < streamOf.size(); ++i) {
    const OrderStretch::Instance &known = stretch.instances[i];
    const size_t s = streamOf[i];
    if (known.takesPart && known.isDone &&
        starts[s] + (known.to.pc - stretch.slices[s].first) != code.places[s].size())
      return false;
  }
  return true;
}

/// An instance that uses a semaphore for the first time need not have used it before the known
/// stretch, if it uses it during the stretch.
bool Stretches::hasSemaphore(const OrderStretch::Semaphore &used) const {
  if (used.at >= state.semaphores.size())
    return false;
  const SemaphoreState &semaphore = state.semaphores[used.at];
  if (semaphore.count != used.before)
    return false;
  if (semaphore.waiter ? semaphore.waiter != used.waiter
                       : used.waiter && !used.isWaiterNew && used.taken == 0)
    return false;
  size_t found = 0;
  for (const OrderStretch::Semaphore::Signals &signals : used.signallers) {
    const bool isHere =
        std::any_of(semaphore.signallers.begin(), semaphore.signallers.end(),
                    [&](const Signaller &one) { return one.instance == signals.instance; });
    if (isHere == signals.isNew && signals.given == 0)
      return false;
    found += isHere;
  }
  return found == semaphore.signallers.size();
}

bool Stretches::hasBarriers(const OrderStretch &stretch) const {
  for (size_t i = 0; i < stretch.barriers.size(); ++i) {
    const int64_t participants = stretch.barriers[i].participants;
    if (participants == 0)
      continue;
    if (i >= state.barriers.size() ||
        (state.barriers[i].participants != 0 && state.barriers[i].participants != participants))
      return false;
  }
  return true;
}

bool Stretches::hasMessages(const OrderStretch &stretch) const {
  if ((stretch.receiver && state.receiver.value_or(*stretch.receiver) != *stretch.receiver) ||
      (stretch.sender && state.sender.value_or(*stretch.sender) != *stretch.sender))
    return false;
  // Without a receive before it, an open race is a race.
  return std::all_of(stretch.returns.begin(), stretch.returns.end(), [&](const OpenRace &race) {
    return race.receives + static_cast<int64_t>(state.receives.size()) > 0;
  });
}

int64_t Stretches::shiftOf(const OrderStretch &stretch, const Starts &starts, size_t stream,
                           uint32_t pc, bool isWrite) const {
  return code.places[stream][pc - stretch.slices[stream].first + starts[stream]].bases[isWrite] -
         stretch.code->places[stream][pc].bases[isWrite];
}

/// Returns true if two accesses overlap in this stretch if and only if they overlap in the known
/// one.
bool Stretches::keepsOverlaps(const OrderStretch &stretch, const Starts &starts) const {
  std::vector<int64_t> shifts;
  for (const TouchedRange &range : stretch.touched)
    shifts.push_back(shiftOf(stretch, starts, range.stream, range.pc, range.isWrite));
  if (std::all_of(shifts.begin(), shifts.end(), [&](int64_t one) { return one == shifts[0]; }))
    return true;
  auto moved = [&](size_t i) {
    TouchedRange range = stretch.touched[i];
    range.low += shifts[i];
    range.high += shifts[i];
    return range;
  };
  for (size_t i = 0; i < shifts.size(); ++i) {
    const TouchedRange &one = stretch.touched[i], here = moved(i);
    for (size_t k = 0; k < i; ++k)
      if (shifts[i] != shifts[k] && (one.isWrite || stretch.touched[k].isWrite) &&
          (one.meets(stretch.touched[k]) || here.meets(moved(k))))
        return false;
  }
  return true;
}

bool Stretches::accepts(const OrderStretch &stretch, Starts &starts) const {
  return stretch.dependence.hasValues(view, stretch.values) && isAtStart(stretch, starts) &&
         hasCode(stretch, starts) &&
         std::all_of(stretch.semaphores.begin(), stretch.semaphores.end(),
                     [&](const OrderStretch::Semaphore &used) { return hasSemaphore(used); }) &&
         hasBarriers(stretch) && hasMessages(stretch) && keepsOverlaps(stretch, starts);
}

int64_t Stretches::replay() {
  Starts starts;
  std::shared_ptr<const OrderStretch> known =
      memory.find(hash(), [&](const OrderStretch &stretch) { return accepts(stretch, starts); });
  if (!known)
    return 0;
  apply(*known, starts);
  normalise();
  int64_t compared = 1;
  for (const OrderStretch::Slice &slice : known->slices)
    compared += slice.last > slice.first ? slice.last - slice.first : 0;
  return compared;
}

void Stretches::apply(const OrderStretch &stretch, const Starts &starts) {
  std::vector<uint32_t> times;
  for (size_t i = 0; i < streamOf.size(); ++i) {
    times.push_back(state.clocks[i][i]);
    const OrderStretch::Instance &known = stretch.instances[i];
    if (!known.takesPart)
      continue;
    InstanceState &instance = state.instances[i];
    instance.walker.pc = known.to.pc - stretch.slices[streamOf[i]].first + starts[streamOf[i]];
    instance.waitsForSemaphore = known.to.waits;
    instance.waitsFor = known.to.waitsFor;
    state.clocks[i][i] += known.time;
  }
  state.ready = stretch.ready;
  state.late = stretch.late;
  for (const OrderStretch::Semaphore &used : stretch.semaphores) {
    SemaphoreState &semaphore = state.semaphores[used.at];
    semaphore.waiter = used.waiter;
    semaphore.count = used.after;
    semaphore.taken += used.taken;
    for (const OrderStretch::Semaphore::Signals &signals : used.signallers) {
      auto found =
          std::find_if(semaphore.signallers.begin(), semaphore.signallers.end(),
                       [&](const Signaller &one) { return one.instance == signals.instance; });
      if (found == semaphore.signallers.end())
        found = semaphore.signallers.insert(found, Signaller{signals.instance, 0, {}});
      found->given += signals.given;
    }
  }
  for (size_t i = 0; i < stretch.barriers.size(); ++i) {
    const OrderStretch::BarrierUse &use = stretch.barriers[i];
    if (use.participants == 0)
      continue;
    state.barriers[i].participants = use.participants;
    for (size_t k = 0; k < use.users.size(); ++k)
      if (use.users[k])
        state.barriers[i].users[k] = true;
  }
  applyMessages(stretch, starts, times);
}

void Stretches::applyMessages(const OrderStretch &stretch, const Starts &starts,
                              const std::vector<uint32_t> &times) {
  if (stretch.receiver)
    state.receiver = stretch.receiver;
  if (stretch.sender)
    state.sender = stretch.sender;
  const auto received = static_cast<int64_t>(state.receives.size());
  for (SentMessage send : stretch.sends) {
    send.after += received;
    for (size_t i = 0; i < times.size(); ++i)
      send.clock[i] += times[i] - 1;
    state.sends.push_back(std::move(send));
  }
  state.receives.insert(state.receives.end(), stretch.receives.begin(), stretch.receives.end());
  for (uint32_t time : stretch.receiveTimes)
    state.receiveTimes.push_back(time + times[*stretch.receiver]);
  for (OpenRace race : stretch.returns) {
    auto move = [&](size_t instance, uint32_t &pc, bool isWrite, StridedBytes &bytes) {
      const size_t stream = streamOf[instance];
      if (race.memory == kMemoryL3 || race.memory == kMemoryHost)
        bytes = bytes.shifted(shiftOf(stretch, starts, stream, pc, isWrite));
      pc = pc - stretch.slices[stream].first + starts[stream];
    };
    move(race.access.instance, race.access.pc, race.access.isWrite, race.access.bytes);
    move(race.instance, race.pc, race.isWrite, race.bytes);
    race.access.time += times[race.access.instance];
    race.time += times[race.instance];
    race.receives += received;
    state.returns.push_back(std::move(race));
  }
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

void Stretches::useSemaphore(size_t at) {
  if (isUsed[at])
    return;
  isUsed[at] = true;
  used.emplace_back(at, state.semaphores[at]);
}

void Stretches::begin() {
  for (const auto &one : used)
    isUsed[one.first] = false;
  used.clear();
  for (std::vector<bool> &users : barrierUsers)
    users.assign(users.size(), false);
  isRefused = false;
  startHash = hash();
  points.clear();
  times.clear();
  for (size_t i = 0; i < streamOf.size(); ++i) {
    points.push_back(pointOf(i));
    times.push_back(state.clocks[i][i]);
  }
  ready = state.ready;
  late = state.late;
  sends = state.sends.size();
  receives = state.receives.size();
  returns = state.returns.size();
}

void Stretches::recordPlaces(OrderStretch &stretch) const {
  stretch.readyBefore = ready;
  stretch.lateBefore = late;
  stretch.ready = state.ready;
  stretch.late = state.late;
  std::vector<bool> isQueued(streamOf.size());
  for (const auto *queue : {&ready, &late, &std::as_const(state.ready), &std::as_const(state.late)})
    for (size_t index : *queue)
      isQueued[index] = true;
  stretch.slices.resize(code.places.size());
  for (size_t i = 0; i < streamOf.size(); ++i) {
    OrderStretch::Instance &instance = stretch.instances.emplace_back();
    instance.from = points[i];
    instance.to = pointOf(i);
    instance.isDone = isDone(state.instances[i]);
    instance.time = state.clocks[i][i] - times[i];
    instance.takesPart = isQueued[i] || instance.from.pc != instance.to.pc ||
                         (instance.to.waits && isUsed[instance.to.waitsFor]);
    if (!instance.takesPart)
      continue;
    OrderStretch::Slice &slice = stretch.slices[streamOf[i]];
    slice.first = std::min(slice.first, instance.from.pc);
    // The instruction for which it waits decides when it wakes.
    slice.last = std::max(slice.last, instance.to.pc + (instance.to.waits ? 1 : 0));
  }
}

void Stretches::recordSemaphores(OrderStretch &stretch) const {
  for (const auto &[at, before] : used) {
    const SemaphoreState &after = state.semaphores[at];
    OrderStretch::Semaphore &created =
        stretch.semaphores.emplace_back(OrderStretch::Semaphore{at,
                                                                after.waiter,
                                                                before.waiter != after.waiter,
                                                                before.count,
                                                                after.count,
                                                                after.taken - before.taken,
                                                                {}});
    // Signallers keep their places.
    for (size_t i = 0; i < after.signallers.size(); ++i) {
      const bool isNew = i >= before.signallers.size();
      created.signallers.push_back(
          {after.signallers[i].instance, isNew,
           after.signallers[i].given - (isNew ? 0 : before.signallers[i].given)});
    }
  }
  for (size_t i = 0; i < barrierUsers.size(); ++i) {
    const bool met =
        std::find(barrierUsers[i].begin(), barrierUsers[i].end(), true) != barrierUsers[i].end();
    stretch.barriers.push_back({barrierUsers[i], met ? state.barriers[i].participants : 0});
  }
}

void Stretches::recordMessages(OrderStretch &stretch) const {
  if (state.receives.size() > receives)
    stretch.receiver = state.receiver;
  if (state.sends.size() > sends)
    stretch.sender = state.sender;
  const auto received = static_cast<int64_t>(receives);
  for (size_t i = sends; i < state.sends.size(); ++i) {
    SentMessage send = state.sends[i];
    send.after -= received;
    for (size_t k = 0; k < times.size(); ++k)
      send.clock[k] -= times[k] - 1;
    stretch.sends.push_back(std::move(send));
  }
  for (size_t i = receives; i < state.receives.size(); ++i) {
    stretch.receives.push_back(state.receives[i]);
    stretch.receiveTimes.push_back(state.receiveTimes[i] - times[*state.receiver]);
  }
  for (size_t i = returns; i < state.returns.size(); ++i) {
    OpenRace race = state.returns[i];
    race.access.time -= times[race.access.instance];
    race.time -= times[race.instance];
    race.receives -= received;
    stretch.returns.push_back(std::move(race));
  }
}

void Stretches::end() {
  if (isRefused)
    return;
  auto stretch = std::make_shared<OrderStretch>();
  stretch->code = &code;
  recordPlaces(*stretch);
  recordSemaphores(*stretch);
  recordMessages(*stretch);
  stretch->touched = state.touched.ranges();
  Program part;
  for (size_t s = 0; s < code.places.size(); ++s) {
    const Stream &stream = code.program->streams[s];
    const OrderStretch::Slice &slice = stretch->slices[s];
    Stream &created = part.streams.emplace_back();
    created.engine = stream.engine;
    if (slice.first < slice.last)
      created.instructions.assign(stream.instructions.begin() + slice.first,
                                  stream.instructions.begin() + slice.last);
  }
  stretch->dependence = dependenceOf(part, /*peers=*/false);
  stretch->values = stretch->dependence.valuesOf(view);
  memory.keep(startHash, std::move(stretch));
}

} // namespace st::dtu
