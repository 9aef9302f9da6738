#include "backends/dtu/isa/order/OrderProof.h"

#include "backends/dtu/isa/InstructionTouches.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>

namespace st::dtu {

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
    return error(index,
                 absl::StrCat("semaphore ", at, ", but the program has only ", semaphores.size()));
  return static_cast<size_t>(at);
}

absl::Status OrderProof::checkUsers(size_t index, size_t at) const {
  const SemaphoreState &semaphore = semaphores[at];
  std::vector<std::string> others;
  for (const Signaller &signaller : semaphore.signallers)
    if (signaller.instance != semaphore.waiter)
      others.push_back(engineOf(signaller.instance));
  // One of two signalling instances may later prove to be the waiter.
  if (others.size() < 2 || (!semaphore.waiter && others.size() == 2))
    return absl::OkStatus();
  return error(index,
               absl::StrCat("semaphore ", at, " is signalled by ", others[0], " and by ", others[1],
                            "; expected one signalling instance, so that a completed wait "
                            "implies which instructions came before it"));
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
  // The waiter may be waiting for another semaphore; it then continues to wait.
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
    return error(index, absl::StrCat("barrier ", barrier.id, " has ", barrier.participants,
                                     " participants, expected ", state.participants,
                                     " as in earlier uses"));
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
    // A state after a barrier may be quiet.
    if (std::holds_alternative<Barrier>(instruction)) {
      ready.push_front(index);
      return absl::OkStatus();
    }
    // Messages are received as late as possible, after all work that does not wait for them.
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
  return absl::InvalidArgumentError(absl::StrCat("waits forever: ", text));
}

absl::Status OrderProof::startStretch() {
  stretches->normalise();
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
  stretches->normalise();
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

} // namespace st::dtu
