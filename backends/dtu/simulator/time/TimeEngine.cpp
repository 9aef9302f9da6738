#include "backends/dtu/simulator/time/TimeEngine.h"

#include "backends/dtu/isa/Names.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace st::dtu {

void TraceBuilder::add(size_t rank, Engine engine, int64_t number, const std::string &label,
                       Picoseconds start, Picoseconds end) {
  auto [it, isNew] = tracks[rank].try_emplace({engine, number});
  Open &open = it->second;
  if (isNew) {
    open.track = static_cast<int32_t>(trace->tracks.size());
    trace->tracks.push_back({static_cast<int64_t>(rank), engine, number});
  }
  if (open.label && *open.label == label) {
    open.span.duration = end - open.span.start;
    open.span.busy += end - start;
    return;
  }
  if (open.label)
    trace->spans.push_back(open.span);
  auto [at, added] = labelIndices.emplace(label, static_cast<int32_t>(trace->labels.size()));
  if (added)
    trace->labels.push_back(label);
  open.label = &at->first;
  open.span = {open.track, at->second, start, end - start, end - start};
}

void TraceBuilder::endTask(size_t rank) {
  for (auto &entry : tracks[rank])
    if (entry.second.label) {
      trace->spans.push_back(entry.second.span);
      entry.second.label = nullptr;
    }
}

void TraceBuilder::finish() {
  for (size_t rank = 0; rank < tracks.size(); ++rank)
    endTask(rank);
  std::sort(trace->spans.begin(), trace->spans.end(), [](const TraceSpan &a, const TraceSpan &b) {
    return std::tie(a.track, a.start) < std::tie(b.track, b.start);
  });
}

TimeEngine::TimeEngine(TimeMachine machine, const std::vector<RankConfig> &ranks,
                       const std::vector<std::unique_ptr<DecodedProgram>> &programs,
                       const std::vector<RankSchedule> &schedules,
                       const std::vector<const LoadedValues *> &loaded, Trace *trace,
                       Boundary *boundary, StepLog *log)
    : machine(std::move(machine)), configs(ranks), programs(programs), schedules(schedules),
      loaded(loaded), trace(trace, ranks.size()), tracing(trace), boundary(boundary),
      ranks(ranks.size()) {
  if (log)
    logger.emplace(ranks, *log);
  if (canSkipPeriods())
    periodic.emplace(this->machine, this->ranks, configs,
                     boundary && boundary->memory ? *boundary->memory : ownMemory,
                     boundary && !log ? boundary->together : nullptr, activeRanks());
}

/// A trace shows every instruction, and loaded values differ from trip to trip.
bool TimeEngine::canSkipPeriods() const {
  bool loads = false;
  for (const std::unique_ptr<DecodedProgram> &program : programs)
    loads |= !program->loads.empty();
  return !tracing && !loads;
}

void TimeEngine::post(Picoseconds time, Priority priority, size_t rank, uint64_t index) {
  if (priority == Priority::Continue)
    ranks[rank].instances[index].due = time;
  queue.push({time, priority, rank, index});
}

void TimeEngine::reschedule(size_t rank) {
  const std::vector<size_t> &sharers = periodic->ranksOfChip(rank);
  std::vector<Event> events;
  for (size_t other : sharers) {
    int workers = 0;
    for (uint32_t i = 0; i < ranks[other].instances.size(); ++i)
      if (const Instance &instance = ranks[other].instances[i]; instance.state == State::Running) {
        events.emplace_back(instance.due, Priority::Continue, other, i);
        workers += isWorker(instance);
      }
    if (logger)
      logger->setWorkers(other, workers);
  }
  queue.replace(
      [&](const Event &event) {
        return event.priority() != Priority::Continue ||
               !std::binary_search(sharers.begin(), sharers.end(), event.rank());
      },
      events);
}

std::vector<size_t> TimeEngine::activeRanks() const {
  std::vector<size_t> active;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (!schedules[rank].empty() && !isRepresented(rank))
      active.push_back(rank);
  return active;
}

bool TimeEngine::replayTogether(Picoseconds now) {
  // Links that ranks of several segments request at one instant make a rotation ambiguous.
  for (const auto &entry : asked)
    if (entry.second.first == now)
      return false;
  std::vector<Event> arrivals;
  for (const Event &event : queue.all())
    if (event.priority() == Priority::Arrival)
      arrivals.push_back(event);
  std::sort(arrivals.begin(), arrivals.end());
  std::vector<TimeMessage> messages;
  for (const Event &event : arrivals) {
    const Flight &flight = flights[event.index()];
    messages.push_back({event.time, flight.destination, flight.channel, flight.bytes});
  }
  if (!periodic->replayTogether(now, messages))
    return false;
  std::vector<Event> events;
  for (const TimeMessage &message : messages) {
    flights.push_back({message.destination, message.channel, message.bytes, /*sender=*/0,
                       /*sent=*/now});
    events.emplace_back(message.arrival, Priority::Arrival, message.destination,
                        flights.size() - 1);
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (uint32_t i = 0; i < ranks[rank].instances.size(); ++i)
      if (const Instance &instance = ranks[rank].instances[i]; instance.state == State::Running)
        events.emplace_back(instance.due, Priority::Continue, rank, i);
  queue.replace([](const Event &) { return false; }, events);
  return true;
}

/// Sets the state of an instance, and logs the change of the number of running workers.
void TimeEngine::setState(size_t rank, Instance &instance, State state, Picoseconds now) {
  if (logger && isWorker(instance)) {
    const int change = (state == State::Running) - (instance.state == State::Running);
    if (change != 0)
      logger->addWorker(rank, now, change);
  }
  instance.state = state;
}

void TimeEngine::scheduleTask(size_t rank, Picoseconds now) {
  Rank &state = ranks[rank];
  RankTiming &timing = machine.timings()[rank];
  state.program = nullptr;
  timing.finish = now;
  if (state.task == schedules[rank].size())
    return;
  state.begins = true;
  timing.taskStart.push_back(now);
  if (logger)
    logger->launchTask(rank, now);
  timing.serialSum += machine.costs().taskLaunch;
  post(now + machine.costs().taskLaunch, Priority::BeginTask, rank, 0);
}

void TimeEngine::beginTask(size_t rank, Picoseconds now) {
  Rank &state = ranks[rank];
  state.begins = false;
  const TaskRun &entry = schedules[rank][state.task];
  state.program = state.begun = programs[static_cast<size_t>(entry.program)].get();
  state.semaphores.assign(static_cast<size_t>(state.program->source.semaphores), {});
  state.barriers.assign(static_cast<size_t>(state.program->source.barriers), {});
  state.instances.clear();
  for (size_t s = 0; s < state.program->streams.size(); ++s) {
    const DecodedStream &stream = state.program->streams[s];
    for (int64_t i = 0; i < stream.count; ++i) {
      Instance &instance = state.instances.emplace_back();
      instance.stream = &stream;
      instance.streamIndex = static_cast<uint32_t>(s);
      instance.number = stream.first + i;
      instance.position = beginStream(i, entry.microBatch, configs[rank].rankInGroup);
    }
  }
  state.alive = state.instances.size();
  if (logger) {
    logger->beginTask(rank, now);
    for (const Instance &instance : state.instances)
      if (isWorker(instance))
        logger->addWorker(rank, now, 1);
  }
  for (uint32_t i = 0; i < state.instances.size(); ++i)
    post(now, Priority::Continue, rank, i);
  if (state.alive == 0)
    endTask(rank, now);
}

void TimeEngine::endTask(size_t rank, Picoseconds now) {
  machine.timings()[rank].taskEnd.push_back(now);
  if (logger)
    logger->endTask(rank, now);
  machine.endTask(rank);
  if (periodic) {
    periodic->disturb(rank);
    periodic->disturbAll();
  }
  if (tracing)
    trace.endTask(rank);
  ++ranks[rank].task;
  scheduleTask(rank, now);
}

void TimeEngine::arrive(const Flight &flight, Picoseconds now) {
  Rank &state = ranks[flight.destination];
  state.arrived[flight.channel].push_back(flight.bytes);
  state.landing += flight.bytes;
  RankTiming &timing = machine.timings()[flight.destination];
  timing.peakLandingBytes = std::max(timing.peakLandingBytes, state.landing);
  auto it = state.receivers.find(flight.channel);
  if (it == state.receivers.end() || it->second.empty())
    return;
  uint32_t index = it->second.front();
  it->second.pop_front();
  if (logger)
    logger->arrive(flight.destination, flight.sender, flight.sent, now);
  setState(flight.destination, state.instances[index], State::Running, now);
  post(now, Priority::Continue, flight.destination, index);
}

void TimeEngine::advance(size_t rank, uint32_t index, Picoseconds now) {
  Rank &state = ranks[rank];
  Instance &instance = state.instances[index];
  if (instance.pendingSignal >= 0) {
    int64_t semaphore = instance.pendingSignal;
    instance.pendingSignal = -1;
    signal(rank, semaphore, instance.pendingCount, now);
  }
  // Waits of link instances are logged as they happen, so they cannot be part of a period.
  if (logger && periodic && !isWorker(instance))
    periodic->disturb(rank);
  const std::vector<Slot> &slots = instance.stream->slots;
  StreamPosition &position = instance.position;
  const bool isFollowed = periodic && periodic->follows(rank), counts = periodic && index == 0;
  while (position.pc < slots.size()) {
    Slot slot = slots[position.pc];
    ++state.instructions;
    if (isFollowed)
      periodic->follow(rank, index);
    if (isControl(slot.opcode)) {
      const uint32_t at = position.pc;
      if (!runControl(*state.program, slot, configs[rank].table, position, fault)) {
        // After repetitions, registers that affect no decision may have any value.
        if (!periodic || periodic->decides(rank, index))
          return;
        fault.clear();
        ++position.pc;
        continue;
      }
      if (counts && slot.opcode == Opcode::EndLoop)
        periodic->endTrip(rank, state.program->loops[slot.index], position.pc <= at);
    } else if (!step(rank, index, slot, now)) {
      return;
    }
  }
  setState(rank, instance, State::Done, now);
  if (--state.alive == 0)
    endTask(rank, now);
}

bool TimeEngine::step(size_t rank, uint32_t index, Slot slot, Picoseconds now) {
  switch (slot.opcode) {
  case Opcode::Wait:
    return wait(rank, index, slot, now);
  case Opcode::Signal: {
    Instance &instance = ranks[rank].instances[index];
    int64_t at = semaphoreOf(*ranks[rank].program, slot, instance.position.registers, fault);
    if (at < 0)
      return false;
    instance.pendingSignal = at;
    instance.pendingCount = ranks[rank].program->semaphores[slot.index].count;
    ++instance.position.pc;
    finish(rank, index, now, {now + machine.costs().sync, machine.costs().sync, 0}, false);
    return false;
  }
  case Opcode::Barrier:
    return barrier(rank, index, slot, now);
  case Opcode::Send:
    if (periodic)
      periodic->disturb(rank);
    send(rank, index, slot, now);
    return false;
  case Opcode::Recv:
    if (periodic)
      periodic->disturb(rank);
    return receive(rank, index, slot, now);
  case Opcode::Load:
    load(rank, index, slot, now);
    return false;
  default:
    work(rank, index, slot, now);
    return false;
  }
}

/// The instance continues when its instruction is complete.
void TimeEngine::finish(size_t rank, uint32_t index, Picoseconds start,
                        const Completion &completion, bool visible) {
  machine.timings()[rank].serialSum += completion.alone;
  post(completion.end, Priority::Continue, rank, index);
  if (!tracing || !visible || completion.end == start)
    return;
  const Instance &instance = ranks[rank].instances[index];
  static const std::string unnamed = "-";
  // The position is already after the instruction.
  int32_t label = instance.stream->labels[instance.position.pc - 1];
  trace.add(rank, instance.stream->engine, instance.number,
            label < 0 ? unnamed : ranks[rank].program->labels[static_cast<size_t>(label)], start,
            completion.end);
}

bool TimeEngine::wait(size_t rank, uint32_t index, Slot slot, Picoseconds now) {
  Rank &state = ranks[rank];
  Instance &instance = state.instances[index];
  int64_t at = semaphoreOf(*state.program, slot, instance.position.registers, fault);
  if (at < 0)
    return false;
  int64_t count = state.program->semaphores[slot.index].count;
  Semaphore &semaphore = state.semaphores[static_cast<size_t>(at)];
  if (semaphore.count >= count) {
    semaphore.count -= count;
    ++instance.position.pc;
    return true;
  }
  setState(rank, instance, State::Semaphore, now);
  instance.waitFor = at;
  instance.waitCount = count;
  semaphore.waiting.push_back(index);
  return false;
}

/// Adds to a semaphore and releases waiters in the order of waiting, as far as the count suffices.
void TimeEngine::signal(size_t rank, int64_t at, int64_t count, Picoseconds now) {
  Rank &state = ranks[rank];
  Semaphore &semaphore = state.semaphores[static_cast<size_t>(at)];
  if (__builtin_add_overflow(semaphore.count, count, &semaphore.count)) {
    fault = absl::StrCat("semaphore ", at, " overflows");
    return;
  }
  auto keep = semaphore.waiting.begin();
  for (uint32_t waiter : semaphore.waiting) {
    Instance &other = state.instances[waiter];
    if (other.waitCount > semaphore.count) {
      *keep++ = waiter;
      continue;
    }
    semaphore.count -= other.waitCount;
    setState(rank, other, State::Running, now);
    ++other.position.pc;
    post(now, Priority::Continue, rank, waiter);
  }
  semaphore.waiting.erase(keep, semaphore.waiting.end());
}

bool TimeEngine::barrier(size_t rank, uint32_t index, Slot slot, Picoseconds now) {
  Rank &state = ranks[rank];
  const BarrierInst &inst = state.program->barriers[slot.index];
  std::vector<uint32_t> &waiting = state.barriers[static_cast<size_t>(inst.id)];
  Instance &instance = state.instances[index];
  ++instance.position.pc;
  setState(rank, instance, State::BarrierWait, now);
  instance.waitFor = inst.id;
  waiting.push_back(index);
  if (static_cast<int64_t>(waiting.size()) < inst.participants)
    return false;
  Picoseconds sync = machine.costs().sync;
  for (uint32_t waiter : waiting) {
    setState(rank, state.instances[waiter], State::Running, now);
    post(now + sync, Priority::Continue, rank, waiter);
  }
  machine.timings()[rank].serialSum += sync;
  waiting.clear();
  return false;
}

absl::Status TimeEngine::deadlock() const {
  std::string waits;
  int stuck = 0;
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].task == schedules[r].size() || isRepresented(r) || ++stuck > 8)
      continue;
    absl::StrAppend(&waits, "; rank ", r, " in program '", ranks[r].program->source.name, "':");
    int listed = 0;
    for (const Instance &instance : ranks[r].instances) {
      if (instance.state == State::Done || ++listed > 6)
        continue;
      constexpr const char *what[] = {"", "semaphore", "barrier", "a message from rank"};
      absl::StrAppend(&waits, listed > 1 ? ", " : " ", name(instance.stream->engine), " ",
                      instance.number, " at instruction ", instance.position.pc, " waits for ",
                      what[static_cast<unsigned>(instance.state)], " ", instance.waitFor);
    }
  }
  return absl::FailedPreconditionError(absl::StrCat("deadlock in simulated time: ", stuck, " of ",
                                                    ranks.size(), " ranks wait forever", waits));
}

absl::StatusOr<TimingResult> TimeEngine::run() {
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (!isRepresented(rank))
      scheduleTask(rank, 0);
  while (!queue.empty()) {
    if (const Event &first = queue.front(); periodic && first.priority() == Priority::Continue &&
                                            periodic->mayReplayTogether(first.time) &&
                                            replayTogether(first.time))
      continue;
    const Event event = queue.take();
    Priority priority = event.priority();
    size_t rank = event.rank();
    uint64_t index = event.index();
    if (priority == Priority::Continue && periodic && periodic->replay(rank)) {
      reschedule(rank);
      continue;
    }
    if (priority == Priority::Arrival && periodic &&
        periodic->rollBack(rank, flights[index].channel, event.time)) {
      post(event.time, priority, rank, index);
      reschedule(rank);
      continue;
    }
    if (priority == Priority::Continue && isFolded() && boundary->rotation->sharesLink &&
        maySendOutside(rank, static_cast<uint32_t>(index)))
      unfold(event);
    if (priority == Priority::Arrival)
      arrive(flights[index], event.time);
    else if (priority == Priority::BeginTask)
      beginTask(rank, event.time);
    else
      advance(rank, static_cast<uint32_t>(index), event.time);
    if (periodic && priority == Priority::Continue && periodic->skipPeriods(rank, event.time))
      reschedule(rank);
    if (!fault.empty()) {
      const Instance &instance = ranks[rank].instances[index];
      return absl::InvalidArgumentError(absl::StrCat(
          "rank ", rank, ", ",
          describePlace(*ranks[rank].program, instance.streamIndex, instance.position.pc), ", ",
          name(instance.stream->engine), " ", instance.number, ": ", fault));
    }
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].task != schedules[rank].size() && !isRepresented(rank))
      return deadlock();
  if (tracing)
    trace.finish();
  if (logger)
    logger->finish([&](int32_t link) { return machine.linkName(link); });
  int64_t instructions = 0, added = 0;
  for (const Rank &rank : ranks) {
    instructions += rank.instructions;
    added += rank.added;
  }
  return machine.summarize(instructions, instructions - added);
}

absl::StatusOr<TimingResult>
simulateTime(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
             const std::vector<std::unique_ptr<DecodedProgram>> &programs,
             const std::vector<RankSchedule> &schedules,
             const std::vector<const LoadedValues *> &loaded, Trace *trace, Boundary *boundary,
             StepLog *log) {
  ST_ASSIGN_OR_RETURN(TimeMachine machine, TimeMachine::create(description, ranks));
  return TimeEngine(std::move(machine), ranks, programs, schedules, loaded, trace, boundary, log)
      .run();
}

} // namespace st::dtu
