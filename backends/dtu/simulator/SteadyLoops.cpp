#include "backends/dtu/simulator/SteadyLoops.h"

#include <algorithm>
#include <map>

namespace st::dtu {
namespace {

/// A search starts behind the first trips, in which loops fill their buffers, and ends before the
/// last ones, of which not enough are left to gain anything.
constexpr int64_t kFirstPatience = 4;
constexpr uint64_t kLeastTripsLeft = 4;
/// So many trips of other ranks show that the anchor does not loop.
constexpr int kMostMissed = 64;

/// Wraps as registers do.
void add(int64_t &value, int64_t times, int64_t gain) {
  value = static_cast<int64_t>(static_cast<uint64_t>(value) +
                               static_cast<uint64_t>(times) * static_cast<uint64_t>(gain));
}

} // namespace

SteadyLoops::SteadyLoops(TimeMachine &machine, std::vector<TimeRank> &ranks,
                         const std::vector<RankConfig> &configs)
    : machine(machine), ranks(ranks), configs(configs) {
  std::map<size_t, size_t> known;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    chipOf.push_back(known.emplace(machine.chipOf(rank), chips.size()).first->second);
    if (chipOf.back() == chips.size()) {
      chips.emplace_back().anchor = rank;
      chips.back().searches.resize(kMaxLoopDepth);
    }
    chips[chipOf.back()].ranks.push_back(rank);
  }
}

const StreamFacts &SteadyLoops::factsOf(const TimeRank &rank, const TimeInstance &instance) {
  auto found = facts.find(instance.stream);
  if (found == facts.end())
    found = facts.try_emplace(instance.stream, *rank.program, *instance.stream).first;
  return found->second;
}

template <typename Visit> void SteadyLoops::eachInstance(const Chip &chip, Visit &&visit) {
  size_t number = 0;
  for (size_t rank : chip.ranks)
    for (TimeInstance &instance : ranks[rank].instances)
      visit(instance, factsOf(ranks[rank], instance), number++);
}

template <typename Show>
bool SteadyLoops::showState(const Chip &chip, Picoseconds now, Show &&show) const {
  for (size_t rank : chip.ranks) {
    if (ranks[rank].begins)
      return false;
    for (const TimeInstance &instance : ranks[rank].instances) {
      // A message may come at any time.
      if (instance.state == InstanceState::Message)
        return false;
      if (!show(static_cast<int64_t>(instance.state)) || !show(instance.position.pc))
        return false;
      if (instance.state == InstanceState::Running
              ? !show(instance.due - now) || !show(instance.pendingSignal) ||
                    !show(instance.pendingCount)
              : !show(instance.waitFor) || !show(instance.waitCount))
        return false;
    }
  }
  if (!machine.showDelays(chip.ranks[0], now, show))
    return false;
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

bool SteadyLoops::record(const Chip &chip, Picoseconds now, Snapshot &snapshot) {
  snapshot.time = now;
  snapshot.shape.clear();
  snapshot.positions.clear();
  snapshot.work.clear();
  snapshot.instructions.clear();
  snapshot.disturbances = -1;
  if (!showState(chip, now, [&](int64_t value) {
        snapshot.shape.push_back(value);
        return true;
      }))
    return false;
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

bool SteadyLoops::matches(const Chip &chip, Picoseconds now, const Snapshot &snapshot) const {
  if (snapshot.disturbances != chip.disturbances)
    return false;
  size_t at = 0;
  return showState(chip, now,
                   [&](int64_t value) {
                     return at < snapshot.shape.size() && snapshot.shape[at++] == value;
                   }) &&
         at == snapshot.shape.size();
}

void SteadyLoops::reset(Chip &chip, size_t depth) {
  for (size_t i = depth; i < chip.depths; ++i) {
    Search &search = chip.searches[i];
    chip.following -= search.period > 0;
    search.period = search.trips = search.patience = 0;
    search.from.disturbances = -1;
    search.recurring.clear();
  }
  chip.depths = std::min(chip.depths, depth);
}

void SteadyLoops::restart(Chip &chip, Search &search, Picoseconds now, int64_t patience) {
  chip.following -= search.period > 0;
  search.period = search.trips = 0;
  search.patience = patience;
  record(chip, now, search.from);
}

void SteadyLoops::follow(size_t rank, uint32_t index) {
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
    if (Search &search = chip.searches[depth]; search.period > 0 && number < search.drifts.size())
      search.bound.visit(*state.program, fact, instance, search.drifts[number],
                         configs[rank].table);
}

void SteadyLoops::endTrip(size_t rank, const LoopInst &loop, bool again) {
  Chip &chip = chips[chipOf[rank]];
  if (rank != chip.anchor) {
    if (++chip.missed < kMostMissed)
      return;
    chip.anchor = rank;
    reset(chip, 0);
  }
  chip.missed = 0;
  chip.ended = -1;
  reset(chip, loop.depth + (again ? 1 : 0));
  if (!again)
    return;
  const StreamPosition &position = ranks[rank].instances[0].position;
  chip.ended = loop.depth;
  chip.left = (static_cast<uint64_t>(position.limits[loop.depth]) -
               static_cast<uint64_t>(position.registers[loop.reg])) /
              static_cast<uint64_t>(loop.step);
}

Picoseconds SteadyLoops::settle(size_t rank, Picoseconds now) {
  Chip &chip = chips[chipOf[rank]];
  if (chip.ended < 0)
    return 0;
  const auto depth = static_cast<size_t>(chip.ended);
  Search &search = chip.searches[depth];
  chip.ended = -1;
  chip.depths = std::max(chip.depths, depth + 1);
  ++search.trips;
  if (search.period > 0)
    return search.trips == search.period ? endFollowing(chip, depth, now) : 0;
  if (chip.left < kLeastTripsLeft)
    return 0;
  if (search.from.disturbances >= 0 && matches(chip, now, search.from) && recurs(chip, search)) {
    beginFollowing(chip, search, now);
    return 0;
  }
  if (search.trips >= std::max(kFirstPatience, search.patience))
    restart(chip, search, now, 2 * std::max(kFirstPatience, search.patience));
  return 0;
}

/// What the registers gained since the last time the chip stood like this is what they gain, if
/// endFollowing() can show it.
void SteadyLoops::beginFollowing(Chip &chip, Search &search, Picoseconds now) {
  search.period = search.trips;
  search.trips = 0;
  search.bound = {};
  search.drifts.assign(search.from.positions.size(), {});
  eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &, size_t number) {
    search.drifts[number] = instance.position - search.from.positions[number];
  });
  search.guessed = search.drifts;
  search.recurring.resize(search.drifts.size());
  search.around.clear();
  for (const Search &other : chip.searches)
    if (other.period > 0 && &other != &search)
      search.around.push_back(other.drifts);
  record(chip, now, search.from);
  ++chip.following;
}

/// Whether what is live gained as much as was guessed, and as much as follows from the guess.
bool SteadyLoops::isLinear(Chip &chip, Search &search) {
  bool result = true;
  eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &fact, size_t number) {
    const RegisterDrift gained = instance.position - search.from.positions[number];
    const uint32_t pc = instance.position.pc;
    for (const RegisterDrift *other : {&search.guessed[number], &search.drifts[number]}) {
      const RegisterSet differing = fact.live[pc] & gained.differsFrom(*other);
      search.recurring[number] |= differing;
      result &= differing.none() && gained.hasLimitsOf(*other, fact.depth[pc]);
    }
  });
  return result;
}

/// Whether those registers that have to are what they were.
bool SteadyLoops::recurs(Chip &chip, const Search &search) {
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

int64_t SteadyLoops::repetitions(Chip &chip, size_t depth) {
  Search &search = chip.searches[depth];
  if (!isLinear(chip, search))
    return 0;
  int64_t times = search.bound.repetitions();
  // A search around this one sees the first and the last repetition, between which all is linear.
  // It must find its drifts unchanged by one.
  size_t around = 0;
  for (size_t outer = 0; outer < depth; ++outer) {
    if (chip.searches[outer].period == 0)
      continue;
    const std::vector<RegisterDrift> &before = search.around[around++];
    eachInstance(chip, [&](const TimeInstance &instance, const StreamFacts &fact, size_t number) {
      const RegisterDrift &now = chip.searches[outer].drifts[number];
      const uint32_t pc = instance.position.pc;
      if ((fact.live[pc] & now.differsFrom(before[number])).any() ||
          !now.hasLimitsOf(before[number], fact.depth[pc]))
        times = 0;
    });
  }
  return around > 0 ? times - 1 : times;
}

Picoseconds SteadyLoops::endFollowing(Chip &chip, size_t depth, Picoseconds now) {
  Search &search = chip.searches[depth];
  const int64_t times = matches(chip, now, search.from) ? repetitions(chip, depth) : 0;
  const Picoseconds later = times > 0 ? skip(chip, search, now, times) : 0;
  restart(chip, search, now + later, 2 * std::max(kFirstPatience, search.period));
  return later;
}

Picoseconds SteadyLoops::skip(Chip &chip, Search &search, Picoseconds now, int64_t times) {
  const Snapshot &from = search.from;
  const Picoseconds later = times * (now - from.time);
  eachInstance(chip, [&](TimeInstance &instance, const StreamFacts &fact, size_t number) {
    if (instance.state == InstanceState::Running)
      instance.due += later;
    StreamPosition &position = instance.position;
    const RegisterDrift &drift = search.drifts[number];
    for (size_t reg = 0; reg < kNumRegisters; ++reg)
      if (fact.live[position.pc].test(reg))
        add(position.registers[reg], times, drift.registers[reg]);
    for (size_t i = 0; i < fact.depth[position.pc]; ++i)
      add(position.limits[i], times, drift.limits[i]);
  });
  machine.delay(chip.ranks[0], now, later);
  for (size_t i = 0; i < chip.ranks.size(); ++i) {
    machine.repeatWork(chip.ranks[i], from.work[i], times);
    TimeRank &rank = ranks[chip.ranks[i]];
    const int64_t added = times * (rank.instructions - from.instructions[i]);
    rank.instructions += added;
    rank.added += added;
  }
  return later;
}

} // namespace st::dtu
