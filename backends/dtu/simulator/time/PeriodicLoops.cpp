#include "backends/dtu/simulator/time/PeriodicLoops.h"

#include <algorithm>
#include <map>
#include <set>

namespace st::dtu {
namespace {

/// A search skips the first trips, in which loops fill their buffers, and the last ones, because
/// too few remain to gain anything.
constexpr int64_t kFirstPatience = 4;
constexpr uint64_t kMinTripsLeft = 4;
/// After this many trips of other ranks, the anchor is considered not to loop.
constexpr int kMaxMissed = 64;
/// States of more chips seldom recur and need much memory.
constexpr size_t kMaxChipsTogether = 8;

/// Wraps on overflow, as registers do.
void addTo(int64_t &value, int64_t times, int64_t gain) {
  value = static_cast<int64_t>(static_cast<uint64_t>(value) +
                               static_cast<uint64_t>(times) * static_cast<uint64_t>(gain));
}

bool isDormant(Picoseconds due, Picoseconds before, Picoseconds now) {
  return due == before && due > now;
}

bool isUnused(const FifoServer &server, const FifoServer &before) {
  return server.freeAt == before.freeAt && server.served == before.served;
}

} // namespace

PeriodicLoops::PeriodicLoops(TimeMachine &machine, std::vector<TimeRank> &ranks,
                             const std::vector<RankConfig> &configs, ChipMemory &memory,
                             ChipMemory *together, std::vector<size_t> active)
    : machine(machine), ranks(ranks), configs(configs), memory(memory), active(std::move(active)) {
  std::map<size_t, size_t> known;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    chipOf.push_back(known.emplace(machine.chipOf(rank), chips.size()).first->second);
    if (chipOf.back() == chips.size()) {
      chips.emplace_back().anchor = rank;
      chips.back().searches.resize(kMaxLoopDepth);
    }
    chips[chipOf.back()].ranks.push_back(rank);
  }
  stretches.emplace(machine, ranks, memory, chips.size());
  std::set<size_t> used;
  for (size_t rank : this->active)
    used.insert(chipOf[rank]);
  if (together && this->active.size() > 1 && used.size() <= kMaxChipsTogether) {
    this->together.emplace(machine, ranks, *together, /*chips=*/1,
                           static_cast<int64_t>(used.size()));
    activeChips.assign(used.begin(), used.end());
  }
}

template <typename Visit> void PeriodicLoops::eachInstance(const Chip &chip, Visit &&visit) {
  size_t number = 0;
  for (size_t rank : chip.ranks)
    for (TimeInstance &instance : ranks[rank].instances)
      visit(instance, factsOf(ranks[rank], instance), number++);
}

template <typename Show, typename ShowDue>
bool PeriodicLoops::showState(const Chip &chip, Show &&show, ShowDue &&showDue) const {
  for (size_t rank : chip.ranks) {
    if (ranks[rank].begins)
      return false;
    for (const TimeInstance &instance : ranks[rank].instances) {
      if (!show(static_cast<int64_t>(instance.state)) || !show(instance.position.pc))
        return false;
      if (instance.state == RunState::Running
              ? !showDue(instance.due) || !show(instance.pendingSignal) ||
                    !show(instance.pendingCount)
              : !show(instance.waitFor) || !show(instance.waitCount))
        return false;
    }
  }
  for (size_t rank : chip.ranks) {
    for (const TimeSemaphore &semaphore : ranks[rank].semaphores) {
      if (!show(semaphore.count) || !show(static_cast<int64_t>(semaphore.waiting.size())))
        return false;
      for (uint32_t waiter : semaphore.waiting)
        if (!show(waiter))
          return false;
    }
    for (const std::vector<uint32_t> &waiting : ranks[rank].barriers) {
      if (!show(static_cast<int64_t>(waiting.size())))
        return false;
      for (uint32_t waiter : waiting)
        if (!show(waiter))
          return false;
    }
  }
  return true;
}

bool PeriodicLoops::record(const Chip &chip, Picoseconds now, Snapshot &snapshot) {
  snapshot.time = now;
  snapshot.shape.clear();
  snapshot.due.clear();
  snapshot.servers.clear();
  snapshot.positions.clear();
  snapshot.work.clear();
  snapshot.instructions.clear();
  snapshot.disturbances = -1;
  auto keep = [](std::vector<int64_t> &values) {
    return [&](int64_t value) {
      values.push_back(value);
      return true;
    };
  };
  if (!showState(chip, keep(snapshot.shape), keep(snapshot.due)))
    return false;
  machine.eachServer(machine.chipOf(chip.ranks[0]),
                     [&](const FifoServer &server) { snapshot.servers.push_back(server); });
  eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &, size_t) {
    snapshot.positions.push_back(instance.position);
  });
  for (size_t rank : chip.ranks) {
    snapshot.work.push_back(machine.workOf(rank));
    snapshot.instructions.push_back(ranks[rank].instructions);
  }
  snapshot.disturbances = chip.disturbances;
  return true;
}

/// A server matches if it stays busy for the same time from now on, or has been idle for the same
/// time.
bool PeriodicLoops::serversMatch(const Chip &chip, Picoseconds now,
                                 const Snapshot &snapshot) const {
  size_t at = 0;
  bool result = true;
  machine.eachServer(machine.chipOf(chip.ranks[0]), [&](const FifoServer &server) {
    const FifoServer &before = snapshot.servers[at++];
    result = result && (std::max<Picoseconds>(0, server.freeAt - now) ==
                            std::max<Picoseconds>(0, before.freeAt - snapshot.time) ||
                        isUnused(server, before));
  });
  return result;
}

/// An instance that is later than at the same point of the last period is in a long instruction,
/// and is not part of the period.
bool PeriodicLoops::matches(const Chip &chip, Picoseconds now, const Snapshot &snapshot) const {
  if (snapshot.disturbances != chip.disturbances || now == snapshot.time)
    return false;
  size_t at = 0, dueAt = 0;
  return showState(
             chip,
             [&](int64_t value) {
               return at < snapshot.shape.size() && snapshot.shape[at++] == value;
             },
             [&](Picoseconds due) {
               if (dueAt == snapshot.due.size())
                 return false;
               const Picoseconds before = snapshot.due[dueAt++];
               return due - now == before - snapshot.time || isDormant(due, before, now);
             }) &&
         at == snapshot.shape.size() && dueAt == snapshot.due.size() &&
         serversMatch(chip, now, snapshot);
}

void PeriodicLoops::reset(Chip &chip, size_t depth) {
  for (size_t i = depth; i < chip.depths; ++i) {
    Search &search = chip.searches[i];
    chip.following -= search.period > 0;
    search.period = search.trips = search.patience = 0;
    search.from.disturbances = -1;
    search.recurring.clear();
  }
  chip.depths = std::min(chip.depths, depth);
}

void PeriodicLoops::restart(Chip &chip, Search &search, Picoseconds now, int64_t patience) {
  chip.following -= search.period > 0;
  search.period = search.trips = 0;
  search.patience = patience;
  record(chip, now, search.from);
}

void PeriodicLoops::follow(size_t rank, uint32_t index) {
  Chip &chip = chips[chipOf[rank]];
  size_t number = index;
  for (size_t other : chip.ranks) {
    if (other == rank)
      break;
    number += ranks[other].instances.size();
  }
  TimeRank &state = ranks[rank];
  TimeInstance &instance = state.instances[index];
  const StreamFacts &fact = factsOf(state, instance);
  for (size_t depth = 0; depth < chip.depths; ++depth)
    if (Search &search = chip.searches[depth]; search.period > 0 && number < search.changes.size())
      visitSlot(*state.program, fact, instance, configs[rank].table, search.bound,
                search.changes[number]);
}

bool PeriodicLoops::decides(size_t rank, uint32_t index) {
  const TimeInstance &instance = ranks[rank].instances[index];
  const uint32_t pc = instance.position.pc;
  const Slot slot = instance.stream->slots[pc];
  const RegisterSet &live = factsOf(ranks[rank], instance).live[pc + 1];
  if (slot.opcode == Opcode::Index)
    return live.test(ranks[rank].program->indices[slot.index].dst);
  return slot.opcode != Opcode::Table || live.test(ranks[rank].program->tables[slot.index].dst);
}

void PeriodicLoops::endTrip(size_t rank, const LoopInst &loop, bool again) {
  Chip &chip = chips[chipOf[rank]];
  if (rank != chip.anchor) {
    if (++chip.missed < kMaxMissed)
      return;
    chip.anchor = rank;
    reset(chip, 0);
  }
  chip.missed = 0;
  chip.ended = -1;
  chip.atMark |= loop.depth == 0;
  chip.atExit |= loop.depth == 0 && !again;
  reset(chip, loop.depth + (again ? 1 : 0));
  if (!again)
    return;
  const StreamPosition &position = ranks[rank].instances[0].position;
  chip.ended = loop.depth;
  chip.left = (static_cast<uint64_t>(position.limits[loop.depth]) -
               static_cast<uint64_t>(position.registers[loop.reg])) /
              static_cast<uint64_t>(loop.step);
}

bool PeriodicLoops::skipPeriods(size_t rank, Picoseconds now) {
  Chip &chip = chips[chipOf[rank]];
  const bool adds = chip.ended >= 0 && search(chip, now);
  if (chip.atMark)
    stretches->mark(chipOf[rank], adds ? chip.addedUntil : now);
  if (chip.atMark && together && chipOf[rank] == activeChips[0])
    together->mark(0, now, /*mustExamine=*/chip.atExit);
  chip.atMark = chip.atExit = false;
  return adds;
}

bool PeriodicLoops::replay(size_t rank) {
  const size_t index = chipOf[rank];
  Chip &chip = chips[index];
  std::vector<TimeMessage> none;
  if (!stretches->isMarked(index) || !stretches->replay(index, chip.ranks, chip.disturbances, none))
    return false;
  chip.added = 0;
  reset(chip, 0);
  return true;
}

/// A chip that is ahead, past added trips or a replayed stretch, may have to undo them.
bool PeriodicLoops::mayReplayTogether(Picoseconds now) {
  if (!together || !together->isMarked(0) || now < aheadUntil)
    return false;
  for (size_t chip : activeChips)
    aheadUntil = std::max({aheadUntil, stretches->replayedUntil(chip),
                           chips[chip].added > 0 ? chips[chip].addedUntil : 0});
  return now >= aheadUntil;
}

bool PeriodicLoops::replayTogether(Picoseconds now, std::vector<TimeMessage> &messages) {
  together->mark(0, now);
  if (!together->replay(0, active, disturbances, messages))
    return false;
  for (size_t index : activeChips) {
    Chip &chip = chips[index];
    ++chip.disturbances;
    chip.added = 0;
    chip.ended = -1;
    chip.atMark = chip.atExit = false;
    reset(chip, 0);
    stretches->forget(index);
  }
  return true;
}

bool PeriodicLoops::search(Chip &chip, Picoseconds now) {
  const auto depth = static_cast<size_t>(chip.ended);
  Search &search = chip.searches[depth];
  chip.ended = -1;
  chip.depths = std::max(chip.depths, depth + 1);
  ++search.trips;
  if (search.period > 0)
    return search.trips == search.period && endFollowing(chip, depth, now);
  if (chip.left < kMinTripsLeft)
    return false;
  if (search.from.disturbances >= 0 && matches(chip, now, search.from) && recurs(chip, search)) {
    beginFollowing(chip, search, now);
    return false;
  }
  if (search.trips >= std::max(kFirstPatience, search.patience))
    restart(chip, search, now, 2 * std::max(kFirstPatience, search.patience));
  return false;
}

/// Assumes that registers change again by the same amounts as since the last matching state;
/// endFollowing() verifies this.
void PeriodicLoops::beginFollowing(Chip &chip, Search &search, Picoseconds now) {
  search.period = search.trips;
  search.trips = 0;
  search.bound = {};
  search.changes.assign(search.from.positions.size(), {});
  eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &, size_t number) {
    search.changes[number] = instance.position - search.from.positions[number];
  });
  search.guessed = search.changes;
  search.recurring.resize(search.changes.size());
  search.around.clear();
  for (const Search &other : chip.searches)
    if (other.period > 0 && &other != &search)
      search.around.push_back(other.changes);
  record(chip, now, search.from);
  ++chip.following;
}

/// Returns true if live registers changed by the assumed amount, and by the amount that follows
/// from it.
bool PeriodicLoops::isLinear(Chip &chip, Search &search) {
  bool result = true;
  eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &fact, size_t number) {
    const RegisterChange gained = instance.position - search.from.positions[number];
    const uint32_t pc = instance.position.pc;
    for (const RegisterChange *other : {&search.guessed[number], &search.changes[number]}) {
      const RegisterSet differing = fact.live[pc] & gained.differsFrom(*other);
      search.recurring[number] |= differing;
      result &= differing.none() && gained.hasLimitsOf(*other, fact.depth[pc]);
    }
  });
  return result;
}

/// Returns true if the registers that must recur have their earlier values.
bool PeriodicLoops::recurs(Chip &chip, const Search &search) {
  bool result = true;
  if (search.recurring.size() == search.from.positions.size())
    eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &, size_t number) {
      const StreamPosition &before = search.from.positions[number];
      for (size_t reg = 0; reg < kNumRegisters; ++reg)
        result &= !search.recurring[number].test(reg) ||
                  instance.position.registers[reg] == before.registers[reg];
    });
  return result;
}

int64_t PeriodicLoops::repetitions(Chip &chip, size_t depth, Picoseconds now) {
  Search &search = chip.searches[depth];
  if (!isLinear(chip, search))
    return 0;
  int64_t times = search.bound.repetitions();
  const Picoseconds duration = now - search.from.time;
  size_t dueAt = 0;
  eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &, size_t) {
    if (instance.state == RunState::Running &&
        isDormant(instance.due, search.from.due[dueAt++], now))
      times = std::min(times, (instance.due - now - 1) / duration);
  });
  // An enclosing search sees the first and the last repetition, between which everything is linear.
  // One repetition must not alter its own changes.
  size_t around = 0;
  for (size_t outer = 0; outer < depth; ++outer) {
    if (chip.searches[outer].period == 0)
      continue;
    const std::vector<RegisterChange> &before = search.around[around++];
    eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &fact, size_t number) {
      const RegisterChange &now = chip.searches[outer].changes[number];
      const uint32_t pc = instance.position.pc;
      if ((fact.live[pc] & now.differsFrom(before[number])).any() ||
          !now.hasLimitsOf(before[number], fact.depth[pc]))
        times = 0;
    });
  }
  return around > 0 ? times - 1 : times;
}

bool PeriodicLoops::endFollowing(Chip &chip, size_t depth, Picoseconds now) {
  Search &search = chip.searches[depth];
  const int64_t times = matches(chip, now, search.from) ? repetitions(chip, depth, now) : 0;
  if (times > 0) {
    chip.repetition = repetitionOf(chip, search, now);
    chip.added = times;
    chip.addedUntil = now + times * chip.repetition.duration;
    add(chip, times);
  }
  restart(chip, search, times > 0 ? chip.addedUntil : now,
          2 * std::max(kFirstPatience, search.period));
  return times > 0;
}

PeriodicLoops::Repetition PeriodicLoops::repetitionOf(Chip &chip, const Search &search,
                                                      Picoseconds now) {
  const Snapshot &from = search.from;
  Repetition result;
  result.duration = now - from.time;
  size_t dueAt = 0, serverAt = 0;
  eachInstance(chip, [&](TimeInstance &instance, const StreamFacts &fact, size_t number) {
    const bool runs = instance.state == RunState::Running;
    Repetition::Instance &created = result.instances.emplace_back();
    created.instance = &instance;
    created.moves = runs && !isDormant(instance.due, from.due[dueAt], now);
    dueAt += runs;
    const uint32_t pc = instance.position.pc;
    for (size_t reg = 0; reg < kNumRegisters; ++reg)
      if (fact.live[pc].test(reg))
        created.change.registers[reg] = search.changes[number].registers[reg];
    for (size_t i = 0; i < fact.depth[pc]; ++i)
      created.change.limits[i] = search.changes[number].limits[i];
  });
  machine.eachServer(machine.chipOf(chip.ranks[0]), [&](FifoServer &server) {
    if (server.freeAt > now && !isUnused(server, from.servers[serverAt]))
      result.servers.push_back(&server);
    ++serverAt;
  });
  for (size_t i = 0; i < chip.ranks.size(); ++i) {
    TimeMachine::Work &work = result.work.emplace_back(machine.workOf(chip.ranks[i]));
    for (size_t k = 0; k < work.size(); ++k)
      work[k] -= from.work[i][k];
    result.instructions.push_back(ranks[chip.ranks[i]].instructions - from.instructions[i]);
  }
  return result;
}

void PeriodicLoops::add(Chip &chip, int64_t times) {
  const Repetition &repetition = chip.repetition;
  for (const Repetition::Instance &entry : repetition.instances) {
    if (entry.moves)
      entry.instance->due += times * repetition.duration;
    StreamPosition &position = entry.instance->position;
    for (size_t reg = 0; reg < kNumRegisters; ++reg)
      addTo(position.registers[reg], times, entry.change.registers[reg]);
    for (size_t i = 0; i < kMaxLoopDepth; ++i)
      addTo(position.limits[i], times, entry.change.limits[i]);
  }
  for (FifoServer *server : repetition.servers)
    server->freeAt += times * repetition.duration;
  for (size_t i = 0; i < chip.ranks.size(); ++i) {
    TimeRank &rank = ranks[chip.ranks[i]];
    machine.addWork(chip.ranks[i], repetition.work[i], times);
    rank.instructions += times * repetition.instructions[i];
    rank.added += times * repetition.instructions[i];
  }
}

/// If the added trips end at or after `now`, nothing has happened on the chip since, and its events
/// come after the message.
bool PeriodicLoops::rollBack(size_t rank, const TimeRank::Channel &channel, Picoseconds now) {
  const size_t index = chipOf[rank];
  Chip &chip = chips[index];
  auto receiver = ranks[rank].receivers.find(channel);
  if (receiver == ranks[rank].receivers.end() || receiver->second.empty())
    return false;
  if (stretches->rollBack(index, chip.ranks, now)) {
    reset(chip, 0);
    return true;
  }
  stretches->forget(index);
  if (chip.added == 0 || now > chip.addedUntil)
    return false;
  const Picoseconds duration = chip.repetition.duration;
  const Picoseconds since = now - (chip.addedUntil - chip.added * duration);
  const int64_t kept = since > 0 ? (since - 1) / duration : 0;
  add(chip, kept - chip.added);
  chip.added = 0;
  reset(chip, 0);
  return true;
}

} // namespace st::dtu
