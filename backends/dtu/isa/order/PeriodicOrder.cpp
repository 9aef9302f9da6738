#include "backends/dtu/isa/order/PeriodicOrder.h"

#include "backends/dtu/isa/Fields.h"
#include "backends/dtu/isa/order/PeriodicConflicts.h"

#include "absl/strings/string_view.h"

#include <algorithm>
#include <cstdlib>

namespace st::dtu {
namespace {

/// Trips before the first comparison, and trips that must remain.
constexpr int64_t kFirstPatience = 2, kMinTripsLeft = 2;
/// The number of added repetitions, the last ones, that keep individual times.
constexpr int64_t kRecent = 2;
/// The largest time.
constexpr int64_t kMaxTime = int64_t(1) << 31;
/// The largest total change of an address.
constexpr int64_t kMaxBytes = int64_t(1) << 60;

ChangeBound::Value evaluate(const Affine &affine, const StreamWalker &walker,
                            const RegisterChange &change) {
  auto eachTerm = [&](auto &&visit) {
    for (const Affine::Term &term : affine.terms)
      visit(term.reg, term.coefficient);
  };
  return ChangeBound::evaluate(walker.value(affine), eachTerm, change);
}

/// Reports the sizes, cores and semaphores of an instruction to a ChangeBound.
class Decisions {
public:
  Decisions(const StreamWalker &walker, ChangeBound &bound, const RegisterChange &change)
      : walker(walker), bound(bound), change(change) {}

  template <typename I> void operator()(const I &instruction) {
    Fields<I>::visit(*this, instruction);
  }
  void affine(absl::string_view name, const Affine &value) {
    if (name == "sem")
      bound.keepEqual(evaluate(value, walker, change));
  }
  void address(const char *, const Address &value) {
    if (value.space == Space::L1 && walker.stream->engine != Engine::Core)
      bound.keepEqual(evaluate(value.core, walker, change));
  }
  void view(const char *name, const View &value) { address(name, value.address); }
  void extent(const char *, const Extent &value) {
    bound.keepExtent(value.tile, value.reg, value.limit, walker.registers, change);
  }
  void sizes(const char *name, const std::vector<Extent> &values) {
    for (const Extent &value : values)
      extent(name, value);
  }
  void operand(const char *name, const TileOperand &value) { address(name, value.address); }
  void operands(const std::array<TileOperand, 3> &values) {
    for (const TileOperand &value : values)
      operand("", value);
  }
  void reg(const char *, uint8_t) {}
  template <typename... Rest> void integer(const char *, Rest &&...) {}
  template <typename... Rest> void bits(const char *, Rest &&...) {}
  template <typename... Rest> void flag(const char *, Rest &&...) {}
  template <typename... Rest> void enumeration(const char *, Rest &&...) {}

private:
  const StreamWalker &walker;
  ChangeBound &bound;
  const RegisterChange &change;
};

} // namespace

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

PeriodicOrder::PeriodicOrder(const Program &program,
                             const std::vector<std::vector<uint32_t>> &matches, OrderState &state,
                             bool followsAccesses)
    : loopEnds(matches), state(state), followsAccesses(followsAccesses),
      doubtful(state.instances.size()), searches(kMaxLoopDepth) {
  for (const Stream &stream : program.streams)
    facts.emplace_back(stream, /*peers=*/true);
}

/// Passes each number of the state that must recur to `show` until it returns false.
template <typename Show> bool PeriodicOrder::showState(Show &&show) const {
  auto showAll = [&](const auto &indices) {
    return show(indices.size()) && std::all_of(indices.begin(), indices.end(), show);
  };
  for (const InstanceState &instance : state.instances)
    if (!show(instance.walker.pc) ||
        !show(instance.waitsForSemaphore ? instance.waitsFor + 1 : size_t(0)))
      return false;
  if (!showAll(state.ready) || !showAll(state.late))
    return false;
  for (const SemaphoreState &semaphore : state.semaphores) {
    if (!show(static_cast<size_t>(semaphore.count)) || !show(semaphore.signallers.size()))
      return false;
    for (const Signaller &signaller : semaphore.signallers) {
      if (!show(signaller.tokens.size()))
        return false;
      for (const Signaller::Token &token : signaller.tokens)
        if (!show(static_cast<size_t>(signaller.given - token.upTo)))
          return false;
    }
  }
  return std::all_of(state.barriers.begin(), state.barriers.end(),
                     [&](const BarrierState &barrier) { return showAll(barrier.waiting); });
}

template <typename Visit> void PeriodicOrder::eachClock(Visit &&visit) {
  for (VectorClock &clock : state.clocks)
    visit(clock);
  for (SemaphoreState &semaphore : state.semaphores)
    for (Signaller &signaller : semaphore.signallers)
      for (Signaller::Token &token : signaller.tokens)
        visit(token.clock);
}

template <typename Visit> void PeriodicOrder::eachCount(Visit &&visit) {
  for (SemaphoreState &semaphore : state.semaphores) {
    visit(semaphore.taken);
    for (Signaller &signaller : semaphore.signallers) {
      visit(signaller.given);
      for (Signaller::Token &token : signaller.tokens)
        visit(token.upTo);
    }
  }
}

int64_t PeriodicOrder::timeOf(const Snapshot &snapshot, size_t index) const {
  return snapshot.clocks[index][index];
}

void PeriodicOrder::record(Snapshot &snapshot) {
  snapshot.disturbances = disturbances;
  snapshot.shape.clear();
  snapshot.counts.clear();
  snapshot.clocks.clear();
  showState([&](size_t value) {
    snapshot.shape.push_back(value);
    return true;
  });
  eachCount([&](int64_t count) { snapshot.counts.push_back(count); });
  eachClock([&](const VectorClock &clock) { snapshot.clocks.push_back(clock); });
  snapshot.places.resize(state.instances.size());
  for (size_t i = 0; i < state.instances.size(); ++i) {
    const StreamWalker &walker = state.instances[i].walker;
    std::copy_n(walker.registers, kNumRegisters, snapshot.places[i].registers);
    std::copy_n(walker.limits, kMaxLoopDepth, snapshot.places[i].limits);
  }
}

bool PeriodicOrder::matches(const Snapshot &snapshot) const {
  if (snapshot.disturbances != disturbances)
    return false;
  size_t at = 0;
  return showState([&](size_t value) {
           return at < snapshot.shape.size() && snapshot.shape[at++] == value;
         }) &&
         at == snapshot.shape.size();
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

void PeriodicOrder::reset(size_t depth) {
  for (size_t i = depth; i < depths; ++i) {
    Search &search = searches[i];
    following -= search.period > 0;
    search.period = search.trips = search.patience = 0;
    search.from.disturbances = -1;
    search.recurring.clear();
    search.records.clear();
  }
  depths = std::min(depths, depth);
}

void PeriodicOrder::restart() {
  reset(0);
  anchor = missed = 0;
  doubtful.assign(doubtful.size(), false);
}

void PeriodicOrder::restart(Search &search, int64_t patience) {
  following -= search.period > 0;
  search.period = search.trips = 0;
  search.patience = patience;
  search.records.clear();
  record(search.from);
}

void PeriodicOrder::follow(size_t index) {
  const StreamWalker &walker = state.instances[index].walker;
  const Instruction &instruction = walker.next();
  const StreamRegisters &fact = factsOf(index);
  for (size_t depth = 0; depth < depths; ++depth) {
    Search &search = searches[depth];
    if (search.period == 0)
      continue;
    RegisterChange &change = search.changes[index];
    auto valueOf = [&](const Affine &affine) { return evaluate(affine, walker, change); };
    if (auto *loop = std::get_if<Loop>(&instruction)) {
      search.bound.visitLoop(loop->reg, walker.openLoops, valueOf(loop->start),
                             valueOf(loop->limit), change);
    } else if (std::holds_alternative<EndLoop>(instruction)) {
      const auto &loop = std::get<Loop>(walker.stream->instructions[(*walker.matches)[walker.pc]]);
      search.bound.visitEndLoop(loop.reg, walker.openLoops - 1, loop.step, walker.registers,
                                walker.limits, change);
    } else if (auto *leave = std::get_if<Leave>(&instruction)) {
      search.bound.visitLeave(leave->unless, change);
    } else if (auto *created = std::get_if<Index>(&instruction)) {
      if (fact.live[walker.pc + 1].test(created->dst))
        search.bound.visitIndex(created->dst, valueOf(created->value), created->divide,
                                created->modulo, created->multiply, change);
    } else if (auto *table = std::get_if<Table>(&instruction)) {
      if (fact.live[walker.pc + 1].test(table->dst))
        search.bound.visitTable(table->dst, valueOf(table->index), change);
    } else {
      std::visit(Decisions(walker, search.bound, change), instruction);
    }
  }
}

void PeriodicOrder::access(const MemoryAccess &access, int64_t memory, const Address &address) {
  const StreamWalker &walker = state.instances[access.instance].walker;
  for (size_t depth = 0; depth < depths; ++depth) {
    Search &search = searches[depth];
    if (search.period == 0)
      continue;
    ChangeBound::Value offset = evaluate(address.offset, walker, search.changes[access.instance]);
    if (!offset.isKnown || std::abs(offset.change) >= kMaxBytes)
      search.bound.keepEqual({0, 0, false});
    search.records.push_back({access, memory, offset.change, state.clocks[access.instance]});
  }
}

int64_t PeriodicOrder::endTrip(size_t index, uint32_t end) {
  if (index != anchor) {
    if (++missed < 4 * state.instances.size())
      return 0;
    anchor = index;
    reset(0);
  }
  missed = 0;
  const StreamWalker &walker = state.instances[index].walker;
  const bool again = walker.pc <= end;
  const size_t depth = factsOf(index).depth[end] - 1;
  reset(depth + (again ? 1 : 0));
  if (!again)
    return 0;
  Search &search = searches[depth];
  depths = std::max(depths, depth + 1);
  ++search.trips;
  if (search.period > 0)
    return search.trips == search.period ? endFollowing(depth) : 0;
  const auto &loop =
      std::get<Loop>(walker.stream->instructions[loopEnds[state.instances[index].stream][end]]);
  if ((walker.limits[depth] - walker.registers[loop.reg]) / loop.step < kMinTripsLeft)
    return 0;
  if (search.from.disturbances >= 0 && matches(search.from) && recurs(search))
    beginFollowing(search);
  else if (search.patience == 0 || search.trips >= search.patience)
    restart(search, std::max(kFirstPatience, 2 * search.patience));
  return 0;
}

/// Assumes that registers change again by what they changed since the last matching state;
/// endFollowing() verifies this.
void PeriodicOrder::beginFollowing(Search &search) {
  search.period = search.trips;
  search.trips = 0;
  search.bound = {};
  search.changes.clear();
  for (size_t i = 0; i < state.instances.size(); ++i) {
    const Place &before = search.from.places[i];
    const StreamWalker &walker = state.instances[i].walker;
    search.changes.emplace_back(before.registers, before.limits, walker.registers, walker.limits);
  }
  search.guessed = search.changes;
  search.recurring.resize(search.changes.size());
  search.around.clear();
  for (const Search &other : searches)
    if (other.period > 0 && &other != &search)
      search.around.push_back(other.changes);
  search.records.clear();
  record(search.from);
  ++following;
}

/// Returns true if live registers changed by the assumed amount, and by the amount that follows
/// from it.
bool PeriodicOrder::isLinear(Search &search) {
  bool result = true;
  for (size_t i = 0; i < state.instances.size(); ++i) {
    const Place &before = search.from.places[i];
    const StreamWalker &walker = state.instances[i].walker;
    const RegisterChange gained(before.registers, before.limits, walker.registers, walker.limits);
    for (const RegisterChange *other : {&search.guessed[i], &search.changes[i]}) {
      const RegisterSet differing = factsOf(i).live[walker.pc] & gained.differsFrom(*other);
      search.recurring[i] |= differing;
      result = result && differing.none() && gained.hasLimitsOf(*other, walker.openLoops);
    }
  }
  return result;
}

/// Returns true if the registers that must recur have their earlier values.
bool PeriodicOrder::recurs(const Search &search) const {
  for (size_t i = 0; i < search.recurring.size(); ++i)
    for (size_t reg = 0; reg < kNumRegisters; ++reg)
      if (search.recurring[i].test(reg) &&
          state.instances[i].walker.registers[reg] != search.from.places[i].registers[reg])
        return false;
  return true;
}

int64_t PeriodicOrder::repetitions(size_t depth) {
  Search &search = searches[depth];
  if (!isLinear(search))
    return 0;
  // An enclosing search sees the first and the last repetition, between which everything is linear.
  // A repetition must not change its own assumptions.
  size_t around = 0;
  for (size_t outer = 0; outer < depth; ++outer) {
    if (searches[outer].period == 0)
      continue;
    const std::vector<RegisterChange> &before = search.around[around++];
    for (size_t i = 0; i < state.instances.size(); ++i) {
      const RegisterChange &now = searches[outer].changes[i];
      const StreamWalker &walker = state.instances[i].walker;
      if ((factsOf(i).live[walker.pc] & now.differsFrom(before[i])).any() ||
          !now.hasLimitsOf(before[i], walker.openLoops))
        return 0;
    }
  }
  return search.bound.repetitions() - (around > 0);
}

bool PeriodicOrder::findGain(const Snapshot &from, Gain &gain) {
  const size_t count = state.instances.size();
  size_t at = 0;
  if (!followsAccesses) {
    bool areEqual = true;
    eachClock([&](const VectorClock &clock) { areEqual = areEqual && clock == from.clocks[at++]; });
    return areEqual;
  }
  gain.times.resize(count);
  gain.lags.assign(count, INT64_MAX);
  for (size_t i = 0; i < count; ++i)
    gain.times[i] = static_cast<int64_t>(state.clocks[i][i]) - timeOf(from, i);
  bool areKept = true;
  eachClock([&](const VectorClock &clock) {
    const VectorClock &before = from.clocks[at++];
    for (size_t i = 0; i < count; ++i) {
      const int64_t lagBefore = timeOf(from, i) - before[i],
                    lag = static_cast<int64_t>(state.clocks[i][i]) - clock[i];
      if (lag == lagBefore)
        continue;
      gain.lags[i] = std::min({gain.lags[i], lag, lagBefore});
      // Knowledge about messages must be exact.
      const Engine engine = state.instances[i].walker.stream->engine;
      areKept = areKept && engine != Engine::Tx && engine != Engine::Rx;
    }
  });
  return areKept;
}

int64_t PeriodicOrder::endFollowing(size_t depth) {
  Search &search = searches[depth];
  Gain gain;
  int64_t times = matches(search.from) && findGain(search.from, gain) ? repetitions(depth) : 0;
  int64_t compared = 0;
  for (size_t i = 0; i < gain.times.size(); ++i)
    if (gain.times[i] > 0)
      times = std::min(times, (kMaxTime - state.clocks[i][i]) / gain.times[i]);
  for (const Record &record : search.records)
    if (record.change != 0)
      times = std::min(times, kMaxBytes / std::max<int64_t>(1, std::abs(record.change)));
  if (times > 0 && followsAccesses) {
    Conflicts conflicts(*this, search, gain, times);
    if (conflicts.any())
      times = 0;
    compared = conflicts.compared;
  }
  if (times > 0)
    add(search, gain, times);
  restart(search, 2 * std::max(kFirstPatience, search.period));
  return compared;
}

void PeriodicOrder::add(const Search &search, const Gain &gain, int64_t times) {
  if (followsAccesses)
    addRecords(search, gain, times);
  auto move = [&](int64_t &value, int64_t change) { value += times * change; };
  for (size_t i = 0; i < state.instances.size(); ++i) {
    StreamWalker &walker = state.instances[i].walker;
    const RegisterSet &live = factsOf(i).live[walker.pc];
    for (size_t reg = 0; reg < kNumRegisters; ++reg)
      if (live.test(reg))
        move(walker.registers[reg], search.changes[i].registers[reg]);
    for (size_t k = 0; k < walker.openLoops; ++k)
      move(walker.limits[k], search.changes[i].limits[k]);
  }
  size_t at = 0;
  eachCount([&](int64_t &count) { move(count, count - search.from.counts[at++]); });
  if (!followsAccesses)
    return;
  std::vector<int64_t> now;
  for (size_t i = 0; i < state.clocks.size(); ++i) {
    now.push_back(state.clocks[i][i]);
    doubtful[i] = doubtful[i] || gain.lags[i] != INT64_MAX;
  }
  eachClock([&](VectorClock &clock) {
    for (size_t i = 0; i < now.size(); ++i)
      if (now[i] - clock[i] < gain.lags[i])
        clock[i] += static_cast<uint32_t>(times * gain.times[i]);
  });
}

void PeriodicOrder::addRecords(const Search &search, const Gain &gain, int64_t times) {
  for (const Record &record : search.records) {
    const int64_t gained = gain.times[record.access.instance];
    MemoryAccess next = record.access;
    auto moveBy = [&](int64_t repetitions) {
      next.bytes = record.access.bytes.shifted(repetitions * record.change);
      next.time = static_cast<uint32_t>(record.access.time + repetitions * gained);
    };
    AccessHistory &history = state.memories[record.memory];
    if (record.memory == kMemoryL3 || record.memory == kMemoryHost)
      state.touched.add(state.instances[next.instance].stream, next.pc, next.isWrite, record.memory,
                        record.access.bytes.repeated(times + 1, record.change));
    const int64_t joined = record.change == 0 ? 0 : times - kRecent;
    if (joined > 0) {
      moveBy(joined);
      next.bytes = record.access.bytes.shifted(record.change).repeated(joined, record.change);
      history.addRow(next, static_cast<uint32_t>(record.access.time + gained));
    }
    for (int64_t i = record.change == 0 ? times : std::max<int64_t>(1, joined + 1); i <= times;
         ++i) {
      moveBy(i);
      history.add(next, /*mayJoin=*/false);
    }
  }
  // The records of an enclosing search end with the same accesses, with its own changes.
  for (Search &outer : searches) {
    if (&outer == &search)
      break;
    if (outer.period == 0)
      continue;
    const size_t first = outer.records.size() - search.records.size();
    for (size_t i = 0; i < search.records.size(); ++i) {
      Record row = outer.records[first + i];
      const int64_t change = search.records[i].change;
      row.access.bytes = row.access.bytes.shifted(change).repeated(times, change);
      row.access.time += static_cast<uint32_t>(times * gain.times[row.access.instance]);
      outer.records.push_back(std::move(row));
    }
  }
}

} // namespace st::dtu
