#include "backends/dtu/isa/order/ProgramOrder.h"

#include "backends/dtu/isa/InstructionTouches.h"
#include "backends/dtu/isa/Names.h"
#include "backends/dtu/isa/Validator.h"
#include "backends/dtu/isa/order/OrderState.h"
#include "backends/dtu/isa/order/PeriodicOrder.h"
#include "backends/dtu/isa/order/Stretches.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace st::dtu {
namespace {

/// How a proof follows memory accesses.
enum class Accesses {
  None,
  /// Evenly spaced accesses at several times are joined, so a race may be a false alarm;
  /// needsTimes() reports that.
  Joined,
  Each ///< and every loop trip is followed
};

class OrderProof : OrderState {
public:
  OrderProof(const Program &program, const RunView &view, int64_t limit, Accesses accesses);
  /// Follows equal stretches once.
  void remember(const StretchCode &code, const RunView &view, StretchMemory &memory) {
    stretches.emplace(code, view, memory, static_cast<OrderState &>(*this));
  }
  absl::StatusOr<ProgramOrder> run();

private:
  /// What must be restored to follow a stretch again. Its start is quiet, so no access is kept.
  struct Start {
    std::vector<InstanceState> instances;
    std::vector<VectorClock> clocks;
    std::deque<size_t> ready, late;
    std::vector<SemaphoreState> semaphores;
    std::vector<BarrierState> barriers;
    std::optional<size_t> receiver, sender;
    size_t sends = 0, receives = 0, returns = 0;
  };

  /// Follows all instances to their ends.
  absl::Status followAll();
  /// In a quiet state, replays known stretches and prepares for the next one.
  absl::Status startStretch();
  void followAgain();
  /// Runs an instance until it waits or ends.
  absl::Status advance(size_t index);
  absl::Status wait(size_t index, const Wait &wait, bool &blocked);
  absl::Status signal(size_t index, const Signal &signal);
  /// Checks that the order of a semaphore's signals is known.
  absl::Status checkUsers(size_t index, size_t at) const;
  absl::Status meet(size_t index, const Barrier &barrier, bool &blocked);
  absl::Status link(size_t index, const Instruction &instruction);
  absl::Status access(size_t index, const Address &address, StridedBytes::Dims dims, int64_t width,
                      bool isWrite, int64_t multicast = 1);
  std::vector<VectorClock> leastClocks() const;
  absl::Status noteRace(const MemoryAccess &access, int64_t memory,
                        const AccessHistory::Race &race);
  std::string describe(const OpenRace &race) const;
  int64_t receivesKnownTo(size_t index) const;
  absl::Status resolveReturns(ProgramOrder &order) const;
  absl::Status checkBarriers() const;
  absl::Status reportWaits() const;
  absl::StatusOr<size_t> semaphoreOf(size_t index, const Affine &affine) const;

  std::string engineOf(size_t index) const {
    return absl::StrCat(name(instances[index].walker.stream->engine), " ",
                        instances[index].walker.number);
  }
  std::string placeOf(size_t index, uint32_t pc) const {
    return absl::StrCat(describePlace(program, instances[index].stream, pc), " on ",
                        engineOf(index));
  }
  absl::Status error(size_t index, const std::string &text) const {
    return absl::InvalidArgumentError(
        absl::StrCat(placeOf(index, instances[index].walker.pc), ": ", text));
  }
  absl::Status exhausted() const {
    return absl::ResourceExhaustedError(
        absl::StrCat("program '", program.name, "' runs more than ", limit, " instructions"));
  }
  std::string memoryName(int64_t memory) const {
    if (memory >= 0)
      return absl::StrCat("L1 of core ", memory);
    return std::string(name(memory == kMemoryL3   ? Space::L3
                            : memory == kMemoryL2 ? Space::L2
                                                  : Space::Host));
  }

  /// If no accesses are followed, the only knowledge needed is how many receives are complete.
  size_t clockWidth() const { return follows ? instances.size() : 1; }
  /// Advances an instance's own time.
  void tick(size_t index) {
    if (follows)
      ++clocks[index][index];
  }

  const Program &program;
  std::vector<std::vector<uint32_t>> matches;
  std::vector<AccessHistory::Race> races; ///< of the current access
  const int64_t limit;
  const bool follows; ///< whether accesses are followed
  bool joins;
  bool repeats; ///< whether periodic loops are skipped
  std::optional<PeriodicOrder> periodic;
  std::optional<Stretches> stretches;
  Start start; ///< of the current stretch
  bool isUncertain = false;
  int64_t executed = 0;
};

OrderProof::OrderProof(const Program &program, const RunView &view, int64_t limit,
                       Accesses accesses)
    : program(program), limit(limit), follows(accesses != Accesses::None),
      joins(accesses == Accesses::Joined), repeats(accesses != Accesses::Each) {
  semaphores.resize(static_cast<size_t>(program.semaphores));
  barriers.resize(static_cast<size_t>(program.barriers));
  matches.reserve(program.streams.size());
  for (size_t s = 0; s < program.streams.size(); ++s) {
    const Stream &stream = program.streams[s];
    matches.push_back(matchLoops(stream));
    for (int64_t i = 0; i < stream.count; ++i) {
      (stream.engine == Engine::Rx ? late : ready).push_back(instances.size());
      instances.push_back({StreamWalker(stream, matches.back(), i, view), s});
    }
  }
  clocks.assign(instances.size(), VectorClock(clockWidth(), 0));
  // An instance's own time starts at 1, before any other can know of it.
  for (size_t i = 0; i < instances.size(); ++i)
    tick(i);
  for (BarrierState &barrier : barriers)
    barrier.users.resize(instances.size());
  std::vector<size_t> sizes;
  for (const Stream &stream : program.streams)
    sizes.push_back(stream.instructions.size());
  touched = TouchedBytes(sizes);
  periodic.emplace(program, matches, static_cast<OrderState &>(*this), follows);
}

absl::StatusOr<size_t> OrderProof::semaphoreOf(size_t index, const Affine &affine) const {
  int64_t at = instances[index].walker.value(affine);
  if (at < 0 || at >= static_cast<int64_t>(semaphores.size()))
    return error(index, absl::StrCat("semaphore ", at, " of ", semaphores.size()));
  return static_cast<size_t>(at);
}

absl::Status OrderProof::checkUsers(size_t index, size_t at) const {
  const SemaphoreState &semaphore = semaphores[at];
  std::vector<std::string> others;
  for (const Signaller &signaller : semaphore.signallers)
    if (signaller.instance != semaphore.waiter)
      others.push_back(engineOf(signaller.instance));
  // One of two may turn out to be the waiter.
  if (others.size() < 2 || (!semaphore.waiter && others.size() == 2))
    return absl::OkStatus();
  return error(index,
               absl::StrCat("semaphore ", at, " is signalled by ", others[0], " and by ", others[1],
                            "; expected one instance beside the one that waits, so that a "
                            "wait tells what happened before"));
}

absl::Status OrderProof::signal(size_t index, const Signal &signal) {
  absl::StatusOr<size_t> at = semaphoreOf(index, signal.semaphore);
  if (!at.ok())
    return at.status();
  if (stretches)
    stretches->useSemaphore(*at);
  SemaphoreState &semaphore = semaphores[*at];
  auto found = std::find_if(semaphore.signallers.begin(), semaphore.signallers.end(),
                            [&](const Signaller &known) { return known.instance == index; });
  if (found == semaphore.signallers.end()) {
    found = semaphore.signallers.insert(found, Signaller{index, 0, {}});
    if (absl::Status status = checkUsers(index, *at); !status.ok())
      return status;
  }
  semaphore.count += signal.count;
  found->given += signal.count;
  if (semaphore.waiter != index) {
    if (!found->tokens.empty() && found->tokens.back().clock == clocks[index])
      found->tokens.back().upTo = found->given;
    else
      found->tokens.push_back({found->given, clocks[index]});
  }
  tick(index);
  // It may be waiting for another semaphore, and then waits again.
  if (semaphore.waiter && instances[*semaphore.waiter].waitsForSemaphore) {
    instances[*semaphore.waiter].waitsForSemaphore = false;
    const bool receives = instances[*semaphore.waiter].walker.stream->engine == Engine::Rx;
    (receives ? late : ready).push_back(*semaphore.waiter);
  }
  return absl::OkStatus();
}

absl::Status OrderProof::wait(size_t index, const Wait &wait, bool &blocked) {
  absl::StatusOr<size_t> at = semaphoreOf(index, wait.semaphore);
  if (!at.ok())
    return at.status();
  if (stretches)
    stretches->useSemaphore(*at);
  SemaphoreState &semaphore = semaphores[*at];
  if (semaphore.waiter.value_or(index) != index)
    return error(index,
                 absl::StrCat("semaphore ", *at, " is awaited by ", engineOf(*semaphore.waiter),
                              " as well; expected one instance"));
  if (!semaphore.waiter) {
    semaphore.waiter = index;
    if (absl::Status status = checkUsers(index, *at); !status.ok())
      return status;
  }
  blocked = instances[index].waitsForSemaphore = semaphore.count < wait.count;
  instances[index].waitsFor = *at;
  if (blocked)
    return absl::OkStatus();
  semaphore.count -= wait.count;
  semaphore.taken += wait.count;
  // Counts that the instance did not add come from the other one, up to the signal that sufficed.
  int64_t foreign = semaphore.taken;
  for (const Signaller &signaller : semaphore.signallers)
    if (signaller.instance == index)
      foreign -= signaller.given;
  for (Signaller &signaller : semaphore.signallers) {
    if (signaller.instance == index || foreign <= 0)
      continue;
    while (signaller.tokens.front().upTo < foreign)
      signaller.tokens.pop_front();
    join(clocks[index], signaller.tokens.front().clock);
  }
  return absl::OkStatus();
}

absl::Status OrderProof::meet(size_t index, const Barrier &barrier, bool &blocked) {
  BarrierState &state = barriers[static_cast<size_t>(barrier.id)];
  if (state.participants == 0)
    state.participants = barrier.participants;
  if (state.participants != barrier.participants)
    return error(index, absl::StrCat("barrier ", barrier.id, " is of ", barrier.participants,
                                     " participants, expected ", state.participants, " as before"));
  state.users[index] = true;
  if (stretches)
    stretches->useBarrier(static_cast<size_t>(barrier.id), index);
  state.waiting.push_back(index);
  blocked = static_cast<int64_t>(state.waiting.size()) < barrier.participants;
  if (blocked)
    return absl::OkStatus();
  VectorClock all(clockWidth(), 0);
  for (size_t other : state.waiting)
    join(all, clocks[other]);
  for (size_t other : state.waiting) {
    clocks[other] = all;
    tick(other);
    if (other != index) {
      ++instances[other].walker.pc;
      ready.push_back(other);
    }
  }
  state.waiting.clear();
  return absl::OkStatus();
}

absl::Status OrderProof::access(size_t index, const Address &address, StridedBytes::Dims dims,
                                int64_t width, bool isWrite, int64_t multicast) {
  const StreamWalker &walker = instances[index].walker;
  MemoryAccess made{StridedBytes(walker.value(address.offset), std::move(dims), width), index,
                    clocks[index][index], walker.pc, isWrite};
  if (made.bytes.empty())
    return absl::OkStatus();
  bool isCore = walker.stream->engine == Engine::Core;
  int64_t memory = address.space == Space::L3     ? kMemoryL3
                   : address.space == Space::L2   ? kMemoryL2
                   : address.space == Space::Host ? kMemoryHost
                   : isCore                       ? walker.number
                                                  : walker.value(address.core);
  if (memory == kMemoryL3 || memory == kMemoryHost)
    touched.add(instances[index].stream, made.pc, isWrite, memory, made.bytes);
  for (int64_t i = 0; i < multicast; ++i) {
    int64_t place = memory < 0 ? memory : memory + i;
    AccessHistory &of = memories[place];
    races.clear();
    executed += static_cast<int64_t>(of.find(made, clocks[index], races) / 32);
    if (of.isForgotten(made, clocks[index]) && joins) {
      isUncertain = true;
      return error(index, "may race with what was forgotten");
    }
    for (const AccessHistory::Race &race : races)
      if (absl::Status status = noteRace(made, place, race); !status.ok())
        return status;
    if (periodic->follows())
      periodic->access(made, place, address);
    of.add(made, joins && place == kMemoryL3 && walker.stream->engine == Engine::Dte);
    if (of.isFull())
      of.forget(leastClocks(), joins);
  }
  return absl::OkStatus();
}

std::string OrderProof::describe(const OpenRace &race) const {
  const StridedBytes &mine = race.access.bytes;
  return absl::StrCat(placeOf(race.access.instance, race.access.pc), ": ",
                      race.access.isWrite ? "writes" : "reads", " bytes ", mine.low, " to ",
                      mine.high - 1, " of ", memoryName(race.memory), ", and ",
                      placeOf(race.instance, race.pc), race.isWrite ? " writes " : " reads ",
                      race.bytes.low, " to ", race.bytes.high - 1, "; nothing orders the two");
}

/// Other ranks may still guarantee the order: nothing is received before the data it was computed
/// from is sent.
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

/// Expresses as numbers of sends and receives what must come back.
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

/// The least that each instance will know at its next memory access.
std::vector<VectorClock> OrderProof::leastClocks() const {
  std::vector<VectorClock> least = clocks;
  for (const BarrierState &barrier : barriers)
    for (size_t one : barrier.waiting)
      for (size_t other : barrier.waiting)
        join(least[one], clocks[other]);
  // A waiting instance will know what the signalling instance knows now, and that one may be
  // waiting as well.
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

absl::Status OrderProof::link(size_t index, const Instruction &instruction) {
  InstanceState &instance = instances[index];
  const StreamWalker &walker = instance.walker;
  auto *send = std::get_if<Send>(&instruction);
  auto *recv = std::get_if<Recv>(&instruction);
  std::optional<size_t> &only = send ? sender : receiver;
  if (only.value_or(index) != index)
    return error(index, absl::StrCat(engineOf(*only), " ", send ? "sends" : "receives",
                                     " as well; expected one instance, so that messages have an "
                                     "order"));
  only = index;
  periodic->disturb();
  if (send) {
    LinkEvent event{true, walker.value(send->peer), send->channel,
                    walker.bytesOf(send->sizes, send->type)};
    uint32_t known = receiver ? clocks[index][follows ? *receiver : 0] : 0;
    // Receives that the sender knows to be complete.
    int64_t after =
        std::upper_bound(receiveTimes.begin(), receiveTimes.end(), known) - receiveTimes.begin();
    sends.push_back({event, after, clocks[index]});
    return absl::OkStatus();
  }
  receives.push_back(
      {false, walker.value(recv->peer), recv->channel, walker.bytesOf(recv->sizes, recv->type)});
  receiveTimes.push_back(follows ? clocks[index][index] : ++clocks[index][0]);
  return absl::OkStatus();
}

absl::Status OrderProof::advance(size_t index) {
  StreamWalker &walker = instances[index].walker;
  std::string fault;
  while (!walker.isDone()) {
    if (++executed > limit)
      return exhausted();
    if (auto *load = std::get_if<Load>(&walker.next()); load && follows)
      if (absl::Status status = access(index, load->address, {}, byteWidth(load->type), false);
          !status.ok())
        return status;
    if (std::holds_alternative<Load>(walker.next())) {
      periodic->disturb();
      if (stretches)
        stretches->refuse();
    }
    if (periodic->follows())
      periodic->follow(index);
    const uint32_t at = walker.pc;
    const bool endsTrip = repeats && std::holds_alternative<EndLoop>(walker.next());
    if (walker.runControl(fault)) {
      if (!fault.empty())
        return error(index, fault);
      if (endsTrip)
        executed += periodic->endTrip(index, at) / 32;
      continue;
    }
    const Instruction &instruction = walker.next();
    absl::Status status;
    bool blocked = false;
    if (auto *waits = std::get_if<Wait>(&instruction))
      status = wait(index, *waits, blocked);
    else if (auto *signals = std::get_if<Signal>(&instruction))
      status = signal(index, *signals);
    else if (auto *meets = std::get_if<Barrier>(&instruction))
      status = meet(index, *meets, blocked);
    else if (std::holds_alternative<Send>(instruction) || std::holds_alternative<Recv>(instruction))
      status = link(index, instruction);
    if (status.ok()) {
      if (follows)
        status = visitTouches(walker, [&](auto &&...touched) {
          return access(index, std::forward<decltype(touched)>(touched)...);
        });
      // Each message has its own time.
      if (walker.stream->engine == Engine::Tx || walker.stream->engine == Engine::Rx)
        tick(index);
    }
    if (!status.ok())
      return status;
    if (blocked)
      return absl::OkStatus();
    ++walker.pc;
    // A state in which all have met may be quiet.
    if (std::holds_alternative<Barrier>(instruction)) {
      ready.push_front(index);
      return absl::OkStatus();
    }
    // Messages are received as late as possible, after everything that does not wait for them.
    if (std::holds_alternative<Recv>(instruction)) {
      late.push_back(index);
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

/// If the participants are exactly the instances that ever arrive, each arrives once per
/// rendezvous.
absl::Status OrderProof::checkBarriers() const {
  for (size_t i = 0; i < barriers.size(); ++i) {
    int64_t users = std::count(barriers[i].users.begin(), barriers[i].users.end(), true);
    if (users != barriers[i].participants)
      return absl::InvalidArgumentError(absl::StrCat(
          "program '", program.name, "': barrier ", i, " has ", barriers[i].participants,
          " participants, but ", users, " instances reach it"));
  }
  return absl::OkStatus();
}

absl::Status OrderProof::reportWaits() const {
  std::string text;
  for (size_t i = 0; i < instances.size(); ++i) {
    if (instances[i].walker.isDone())
      continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", placeOf(i, instances[i].walker.pc));
    if (text.size() > 300)
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat("waits for ever: ", text));
}

absl::Status OrderProof::startStretch() {
  stretches->settle();
  periodic->restart();
  joins = repeats = true;
  while (int64_t compared = stretches->replay()) {
    executed += compared / 32 + 1;
    if (executed > limit)
      return exhausted();
  }
  stretches->begin();
  start = {instances, clocks,       ready,           late,          semaphores, barriers, receiver,
           sender,    sends.size(), receives.size(), returns.size()};
  return absl::OkStatus();
}

/// Follows the current stretch again from its start, with the times of all accesses.
void OrderProof::followAgain() {
  instances = start.instances;
  clocks = start.clocks;
  ready = start.ready;
  late = start.late;
  semaphores = start.semaphores;
  barriers = start.barriers;
  receiver = start.receiver;
  sender = start.sender;
  sends.resize(start.sends);
  receives.resize(start.receives);
  receiveTimes.resize(start.receives);
  returns.erase(returns.begin() + static_cast<ptrdiff_t>(start.returns), returns.end());
  stretches->settle();
  stretches->begin();
  periodic->restart();
  joins = repeats = isUncertain = false;
}

absl::Status OrderProof::followAll() {
  if (stretches)
    ST_RETURN_IF_ERROR(startStretch());
  while (!ready.empty() || !late.empty()) {
    std::deque<size_t> &queue = ready.empty() ? late : ready;
    size_t index = queue.front();
    queue.pop_front();
    absl::Status status = advance(index);
    if (isUncertain && stretches) {
      followAgain();
      continue;
    }
    ST_RETURN_IF_ERROR(status);
    if (stretches && stretches->isQuiet()) {
      stretches->end();
      ST_RETURN_IF_ERROR(startStretch());
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ProgramOrder> OrderProof::run() {
  ST_RETURN_IF_ERROR(followAll());
  for (const InstanceState &instance : instances)
    if (!instance.walker.isDone())
      return reportWaits();
  if (absl::Status status = checkBarriers(); !status.ok())
    return status;
  ProgramOrder order;
  order.executed = executed;
  if (absl::Status status = resolveReturns(order); !status.ok())
    return status;
  size_t received = 0;
  for (const SentMessage &send : sends) {
    while (static_cast<int64_t>(received) < send.after)
      order.events.push_back(receives[received++]);
    order.events.push_back(send.event);
  }
  order.events.insert(order.events.end(), receives.begin() + static_cast<ptrdiff_t>(received),
                      receives.end());
  return order;
}

} // namespace

absl::StatusOr<ProgramOrder> proveOrder(const Program &program, const RunView &view, int64_t limit,
                                        bool everyTrip) {
  if (everyTrip)
    return OrderProof(program, view, limit, Accesses::Each).run();
  const StretchCode code = CodeForms().codeOf(program);
  StretchMemory memory;
  OrderProof proof(program, view, limit, Accesses::Joined);
  proof.remember(code, view, memory);
  return proof.run();
}

absl::StatusOr<ProgramOrder> proveOrder(const StretchCode &code, const RunView &view, int64_t limit,
                                        StretchMemory &memory) {
  OrderProof proof(*code.program, view, limit, Accesses::Joined);
  proof.remember(code, view, memory);
  absl::StatusOr<ProgramOrder> order = proof.run();
  // The peers of replayed messages are those of another run.
  if (order.ok())
    order->events.clear();
  return order;
}

absl::StatusOr<ProgramOrder> proveWaits(const Program &program, const RunView &view,
                                        int64_t limit) {
  return OrderProof(program, view, limit, Accesses::None).run();
}

absl::StatusOr<std::vector<LinkEvent>> followLinks(const Program &program, const RunView &view) {
  std::vector<LinkEvent> events;
  for (Engine engine : {Engine::Tx, Engine::Rx})
    for (size_t s = 0; s < program.streams.size(); ++s) {
      const Stream &stream = program.streams[s];
      if (stream.engine != engine)
        continue;
      std::vector<uint32_t> matches = matchLoops(stream);
      for (int64_t i = 0; i < stream.count; ++i) {
        StreamWalker walker(stream, matches, i, view);
        for (std::string fault; !walker.isDone();) {
          if (walker.runControl(fault)) {
            if (!fault.empty())
              return absl::InvalidArgumentError(
                  absl::StrCat(describePlace(program, s, walker.pc), ": ", fault));
            continue;
          }
          if (auto *send = std::get_if<Send>(&walker.next()))
            events.push_back({true, walker.value(send->peer), send->channel,
                              walker.bytesOf(send->sizes, send->type)});
          else if (auto *recv = std::get_if<Recv>(&walker.next()))
            events.push_back({false, walker.value(recv->peer), recv->channel,
                              walker.bytesOf(recv->sizes, recv->type)});
          ++walker.pc;
        }
      }
    }
  return events;
}

} // namespace st::dtu
