#include "backends/dtu/simulator/time/ChipMemory.h"

#include "backends/dtu/simulator/replay/TimingForm.h"

#include <algorithm>

namespace st::dtu {
namespace {

/// The largest number of values kept (256 MiB).
constexpr size_t kMostKept = size_t(1) << 25;
/// Simulated instructions between two examinations of a chip's state, and the length at which a
/// stretch ends.
constexpr int64_t kLeastInstructions = int64_t(1) << 9, kLongStretch = int64_t(1) << 12;

uint64_t hashOf(const ChipState &state) {
  uint64_t hash = state.places.size();
  for (int64_t number : state.numbers) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

bool isLink(const TimeInstance &instance) {
  return instance.stream->engine == Engine::Tx || instance.stream->engine == Engine::Rx;
}

int64_t simulated(const ChipState &state) {
  int64_t result = 0;
  for (size_t i = 0; i < state.instructions.size(); ++i)
    result += state.instructions[i] - state.added[i];
  return result;
}

/// Returns true if the code from `at` on does the same as the code from `from` to `to`, and sets
/// where that ends.
bool isAlike(const ChipState::Place &from, const ChipState::Place &to, const ChipState::Place &at,
             ChipState::Place &end) {
  const StreamCode &theirs = *from.code, &own = *at.code;
  const uint32_t first = theirs.first[from.pc],
                 last = std::max(theirs.last[to.pc], to.pc + (to.isReached ? 1 : 0));
  const uint32_t ownFirst = own.first[at.pc];
  end = {at.code, at.pc + (to.pc - from.pc), to.isReached};
  if (&theirs == &own && from.pc == at.pc)
    return true;
  return at.pc - ownFirst == from.pc - first && ownFirst + (last - first) <= own.forms.size() &&
         std::equal(theirs.forms.begin() + first, theirs.forms.begin() + last,
                    own.forms.begin() + ownFirst) &&
         theirs.facts.live[from.pc] == own.facts.live[at.pc] &&
         theirs.facts.live[to.pc] == own.facts.live[end.pc] &&
         theirs.facts.depth[to.pc] == own.facts.depth[end.pc];
}

/// Where a known stretch ends that begins at `state`; empty if it does not begin there.
std::vector<ChipState::Place> endOf(const Stretch &stretch, const ChipState &state) {
  if (stretch.from->numbers != state.numbers || stretch.from->places.size() != state.places.size())
    return {};
  const Picoseconds end = state.time + (stretch.to->time - stretch.from->time);
  for (Picoseconds due : state.linkDues)
    if (due > state.time - 1 && due <= end)
      return {};
  std::vector<ChipState::Place> result(state.places.size());
  for (size_t i = 0; i < state.places.size(); ++i) {
    if (!state.places[i].code)
      result[i] = state.places[i];
    else if (!isAlike(stretch.from->places[i], stretch.to->places[i], state.places[i], result[i]))
      return {};
  }
  return result;
}

} // namespace

const StreamCode &ChipMemory::codeOf(const DecodedProgram &program, const DecodedStream &stream) {
  std::unique_ptr<StreamCode> &code = codes[&stream];
  if (code)
    return *code;
  code.reset(new StreamCode{StreamFacts(program, stream), {}, {}, {}});
  for (const std::string &form : slotFormsOf(program, stream))
    code->forms.push_back(forms.emplace(form, static_cast<int32_t>(forms.size())).first->second);
  code->forms.push_back(forms.emplace("end", static_cast<int32_t>(forms.size())).first->second);
  // Rank tables differ from rank to rank.
  for (size_t at = 0; at < stream.slots.size(); ++at)
    if (stream.slots[at].opcode == Opcode::Table &&
        code->facts.live[at + 1].test(program.tables[stream.slots[at].index].dst))
      code->forms[at] =
          forms.emplace(std::to_string(forms.size()) + " table", static_cast<int32_t>(forms.size()))
              .first->second;
  uint32_t begin = 0;
  for (uint32_t at = 0; at <= stream.slots.size(); ++at) {
    const bool isInside = code->facts.depth[at] > 0;
    if (!isInside)
      begin = at;
    code->first.push_back(isInside ? begin : at);
    code->last.push_back(at);
  }
  for (uint32_t at = static_cast<uint32_t>(stream.slots.size()); at-- > 0;)
    if (code->facts.depth[at] > 0)
      code->last[at] = code->facts.depth[at + 1] > 0 ? code->last[at + 1] : at + 1;
  return *code;
}

std::shared_ptr<const Stretch> ChipMemory::find(const ChipState &state) const {
  auto [begin, end] = stretches.equal_range(hashOf(state));
  for (auto it = begin; it != end; ++it)
    if (!endOf(*it->second, state).empty())
      return it->second;
  return nullptr;
}

void ChipMemory::keep(std::shared_ptr<const Stretch> stretch) {
  kept += stretch->to->numbers.size() + 3 * stretch->to->places.size();
  if (kept > kMostKept) {
    stretches.clear();
    kept = 0;
  }
  const uint64_t hash = hashOf(*stretch->from);
  stretches.emplace(hash, std::move(stretch));
}

/// Returns false in a state in which no stretch may begin or end: a task is about to begin.
bool KnownStretches::describe(const std::vector<size_t> &members, Picoseconds now,
                              ChipState &state) {
  state.time = now;
  auto show = [&](int64_t number) { state.numbers.push_back(number); };
  for (size_t member : members) {
    TimeRank &rank = ranks[member];
    if (rank.begins)
      return false;
    show(static_cast<int64_t>(rank.alive));
    for (const TimeInstance &instance : rank.instances) {
      show(static_cast<int64_t>(instance.state));
      show(static_cast<int64_t>(instance.stream->engine));
      show(instance.number);
      if (instance.state == InstanceState::Semaphore) {
        show(instance.waitFor);
        show(instance.waitCount);
      }
      if (isLink(instance)) {
        state.places.push_back({nullptr, instance.position.pc, /*isReached=*/false});
        state.linkDues.push_back(instance.due);
        continue;
      }
      const StreamCode &code = memory.codeOf(*rank.begun, *instance.stream);
      const uint32_t pc = instance.position.pc;
      state.places.push_back(
          {&code, pc,
           instance.state == InstanceState::Semaphore || instance.state == InstanceState::Done});
      if (instance.state == InstanceState::Running) {
        show(instance.due - now);
        show(instance.pendingSignal);
        show(instance.pendingSignal < 0 ? 0 : instance.pendingCount);
      } else if (instance.state == InstanceState::BarrierWait) {
        show(instance.waitFor);
      }
      for (size_t reg = 0; reg < kNumRegisters; ++reg)
        if (code.facts.live[pc].test(reg))
          show(instance.position.registers[reg]);
      for (size_t depth = 0; depth < code.facts.depth[pc]; ++depth)
        show(instance.position.limits[depth]);
    }
  }
  auto showWaiting = [&](const std::vector<uint32_t> &waiting) {
    show(static_cast<int64_t>(waiting.size()));
    for (uint32_t waiter : waiting)
      show(waiter);
  };
  for (size_t member : members) {
    const TimeRank &rank = ranks[member];
    for (size_t i = 0; i < rank.semaphores.size(); ++i) {
      const TimeSemaphore &semaphore = rank.semaphores[i];
      if (semaphore.count == 0 && semaphore.waiting.empty())
        continue;
      show(static_cast<int64_t>(i));
      show(semaphore.count);
      showWaiting(semaphore.waiting);
    }
    show(-1);
    show(static_cast<int64_t>(rank.barriers.size()));
    for (const std::vector<uint32_t> &waiting : rank.barriers)
      showWaiting(waiting);
    state.work.push_back(machine.workOf(member));
    state.instructions.push_back(rank.instructions);
    state.added.push_back(rank.added);
  }
  machine.eachServer(machine.chipOf(members[0]), [&](const FifoServer &server) {
    show(std::max<Picoseconds>(0, server.freeAt - now));
  });
  return true;
}

/// Restores the values of describe(), in its order.
void KnownStretches::enter(const std::vector<size_t> &members, const ChipState &state,
                           const std::vector<ChipState::Place> &places, Picoseconds now) {
  auto at = state.numbers.begin();
  auto place = places.begin();
  for (size_t member : members) {
    TimeRank &rank = ranks[member];
    rank.alive = static_cast<size_t>(*at++);
    for (TimeInstance &instance : rank.instances) {
      const StreamCode *code = place->code;
      const uint32_t pc = place++->pc;
      const auto stands = static_cast<InstanceState>(*at);
      at += 3;
      if (!code) {
        at += stands == InstanceState::Semaphore ? 2 : 0;
        continue;
      }
      instance.state = stands;
      instance.position.pc = pc;
      instance.pendingSignal = -1;
      if (stands == InstanceState::Semaphore) {
        instance.waitFor = *at++;
        instance.waitCount = *at++;
      } else if (stands == InstanceState::Running) {
        instance.due = now + *at++;
        instance.pendingSignal = *at++;
        instance.pendingCount = *at++;
      } else if (stands == InstanceState::BarrierWait) {
        instance.waitFor = *at++;
      }
      for (size_t reg = 0; reg < kNumRegisters; ++reg)
        if (code->facts.live[pc].test(reg))
          instance.position.registers[reg] = *at++;
      for (size_t depth = 0; depth < code->facts.depth[pc]; ++depth)
        instance.position.limits[depth] = *at++;
    }
  }
  auto readWaiting = [&](std::vector<uint32_t> &waiting) {
    waiting.resize(static_cast<size_t>(*at++));
    for (uint32_t &waiter : waiting)
      waiter = static_cast<uint32_t>(*at++);
  };
  for (size_t member : members) {
    TimeRank &rank = ranks[member];
    for (TimeSemaphore &semaphore : rank.semaphores) {
      semaphore.count = 0;
      semaphore.waiting.clear();
    }
    while (*at >= 0) {
      TimeSemaphore &semaphore = rank.semaphores[static_cast<size_t>(*at++)];
      semaphore.count = *at++;
      readWaiting(semaphore.waiting);
    }
    at += 2;
    for (std::vector<uint32_t> &waiting : rank.barriers)
      readWaiting(waiting);
  }
  machine.eachServer(machine.chipOf(members[0]),
                     [&](FifoServer &server) { server.freeAt = now + *at++; });
}

void KnownStretches::count(const std::vector<size_t> &members, const Stretch &stretch,
                           int64_t times) {
  for (size_t i = 0; i < members.size(); ++i) {
    TimeMachine::Work work = stretch.to->work[i];
    for (size_t k = 0; k < work.size(); ++k)
      work[k] -= stretch.from->work[i][k];
    machine.addWork(members[i], work, times);
    const int64_t instructions = stretch.to->instructions[i] - stretch.from->instructions[i];
    ranks[members[i]].instructions += times * instructions;
    ranks[members[i]].added += times * instructions;
  }
}

void KnownStretches::mark(size_t chip, Picoseconds now) {
  chips[chip].isMarked = true;
  chips[chip].marked = now;
}

void KnownStretches::forget(size_t index) {
  Chip &chip = chips[index];
  chip.isMarked = false;
  chip.recorded = nullptr;
  chip.replayed = nullptr;
}

/// Keeps a stretch that did enough work and in which no message was sent, received or waited for.
void KnownStretches::finish(Chip &chip, std::shared_ptr<const ChipState> now,
                            int64_t disturbances) {
  const ChipState &from = *chip.recorded->from;
  bool holds = chip.disturbances == disturbances && from.linkDues == now->linkDues &&
               from.places.size() == now->places.size() &&
               simulated(*now) - simulated(from) >= kLeastInstructions;
  for (size_t i = 0; holds && i < from.places.size(); ++i)
    holds = now->places[i].code || from.places[i].pc == now->places[i].pc;
  for (Picoseconds due : from.linkDues)
    holds = holds && (due < from.time || due > now->time);
  if (holds) {
    chip.recorded->to = std::move(now);
    memory.keep(std::move(chip.recorded));
  }
  chip.recorded = nullptr;
}

bool KnownStretches::replay(size_t index, const std::vector<size_t> &members,
                            int64_t disturbances) {
  Chip &chip = chips[index];
  chip.isMarked = false;
  const bool followsReplay = chip.replayed != nullptr;
  chip.replayed = nullptr;
  int64_t simulatedNow = 0;
  for (size_t member : members)
    simulatedNow += ranks[member].instructions - ranks[member].added;
  // Examines immediately after a disturbance, so that equal stretches begin at equal states.
  if (!followsReplay && chip.lookedDisturbances == disturbances &&
      simulatedNow - chip.looked < kLeastInstructions)
    return false;
  chip.looked = simulatedNow;
  chip.lookedDisturbances = disturbances;
  auto now = std::make_shared<ChipState>();
  if (!describe(members, chip.marked, *now)) {
    chip.recorded = nullptr;
    return false;
  }
  std::shared_ptr<const Stretch> known = memory.find(*now);
  if (chip.recorded && (known || chip.disturbances != disturbances ||
                        simulated(*now) - simulated(*chip.recorded->from) >= kLongStretch))
    finish(chip, now, disturbances);
  if (!known) {
    if (!chip.recorded) {
      chip.recorded = std::make_shared<Stretch>();
      chip.recorded->from = std::move(now);
      chip.disturbances = disturbances;
    }
    return false;
  }
  chip.marked = now->time + (known->to->time - known->from->time);
  chip.isMarked = true;
  enter(members, *known->to, endOf(*known, *now), chip.marked);
  count(members, *known, 1);
  chip.replayed = std::move(known);
  chip.before = std::move(now);
  return true;
}

bool KnownStretches::takeBack(size_t index, const std::vector<size_t> &members, Picoseconds now) {
  Chip &chip = chips[index];
  if (!chip.replayed || now > chip.marked)
    return false;
  enter(members, *chip.before, chip.before->places, chip.before->time);
  count(members, *chip.replayed, -1);
  forget(index);
  return true;
}

} // namespace st::dtu
