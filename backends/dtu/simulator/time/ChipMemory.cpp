#include "backends/dtu/simulator/time/ChipMemory.h"

#include "backends/dtu/simulator/replay/TimingForm.h"

#include <algorithm>
#include <array>

namespace st::dtu {
namespace {

/// The largest number of values kept: 256 MiB for stretches of chips, 64 MiB for those of runs of
/// the same ranks.
constexpr size_t kMaxKept = size_t(1) << 25, kMaxKeptOfRuns = size_t(1) << 23;
/// Simulated instructions between two examinations of a chip's state, and the length at which a
/// stretch ends.
constexpr int64_t kMinInstructions = int64_t(1) << 9, kLongStretch = int64_t(1) << 12;

/// Four independent sums, because each step of one waits for a multiplication.
uint64_t hashOf(const ChipState &state) {
  std::array<uint64_t, 4> hashes = {state.places.size(), 1, 2, 3};
  auto add = [](uint64_t &hash, int64_t number) {
    hash = (hash ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  size_t at = 0;
  for (; at + hashes.size() <= state.numbers.size(); at += hashes.size())
    for (size_t i = 0; i < hashes.size(); ++i)
      add(hashes[i], state.numbers[at + i]);
  for (; at < state.numbers.size(); ++at)
    add(hashes[0], state.numbers[at]);
  for (size_t i = 1; i < hashes.size(); ++i)
    add(hashes[0], static_cast<int64_t>(hashes[i]));
  return hashes[0];
}

int64_t simulated(const ChipState &state) {
  int64_t result = 0;
  for (size_t i = 0; i < state.instructions.size(); ++i)
    result += state.instructions[i] - state.added[i];
  return result;
}

/// Returns true if the code from `at` on is equivalent to the code from `from` to `to`, and sets
/// the place where it ends.
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

/// The end of a known stretch that begins at `state`; empty if it does not begin there.
std::vector<ChipState::Place> endOf(const Stretch &stretch, const ChipState &state) {
  if (stretch.from->numbers != state.numbers || stretch.from->places.size() != state.places.size())
    return {};
  const Picoseconds end = state.time + (stretch.to->time - stretch.from->time);
  for (Picoseconds due : state.linkDues)
    if (due > state.time - 1 && due <= end)
      return {};
  // The peak of landed bytes in the stretch is known only if it exceeded the peak before it.
  for (size_t i = 0; i < state.peaks.size(); ++i)
    if (state.peaks[i] < stretch.to->peaks[i] && stretch.to->peaks[i] == stretch.from->peaks[i])
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
  for (size_t at = 0; at < stream.slots.size() && scope == StretchScope::Chip; ++at)
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
  const ChipState &to = *stretch->to;
  kept += to.numbers.size() + 3 * to.places.size() + 23 * to.work.size() + 3 * to.linkWork.size();
  if (kept > (scope == StretchScope::Run ? kMaxKeptOfRuns : kMaxKept)) {
    stretches.clear();
    kept = 0;
  }
  const uint64_t hash = hashOf(*stretch->from);
  stretches.emplace(hash, std::move(stretch));
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
  if (!memory.hasMessages())
    return;
  machine.addLinkWork(stretch.to->linkWork, times);
  machine.addLinkWork(stretch.from->linkWork, -times);
  for (size_t i = 0; i < members.size(); ++i) {
    int64_t &peak = machine.timings()[members[i]].peakLandingBytes;
    peak = std::max(peak, stretch.to->peaks[i] > stretch.from->peaks[i] ? stretch.to->peaks[i] : 0);
  }
}

void KnownStretches::mark(size_t chip, Picoseconds now, bool mustExamine) {
  chips[chip].isMarked = true;
  chips[chip].mustExamine |= mustExamine;
  chips[chip].marked = now;
}

void KnownStretches::forget(size_t index) {
  Chip &chip = chips[index];
  chip.isMarked = false;
  chip.recorded = nullptr;
  chip.replayed = nullptr;
}

/// Stores a stretch if it is long enough, and if no message was sent, received or waited for in it.
void KnownStretches::finish(Chip &chip, std::shared_ptr<const ChipState> now,
                            int64_t disturbances) {
  const ChipState &from = *chip.recorded->from;
  bool holds = chip.disturbances == disturbances && from.linkDues == now->linkDues &&
               from.places.size() == now->places.size() &&
               simulated(*now) - simulated(from) >= size * kMinInstructions;
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

bool KnownStretches::replay(size_t index, const std::vector<size_t> &members, int64_t disturbances,
                            std::vector<TimeMessage> &messages) {
  Chip &chip = chips[index];
  chip.isMarked = false;
  const bool mustExamine = chip.mustExamine;
  chip.mustExamine = false;
  const bool followsReplay = chip.replayed != nullptr;
  chip.replayed = nullptr;
  int64_t simulatedNow = 0;
  for (size_t member : members)
    simulatedNow += ranks[member].instructions - ranks[member].added;
  // Examines immediately after a disturbance, so that equal stretches begin at equal states.
  if (!followsReplay && !mustExamine && chip.lookedDisturbances == disturbances &&
      simulatedNow - chip.looked < size * kMinInstructions)
    return false;
  chip.looked = simulatedNow;
  chip.lookedDisturbances = disturbances;
  auto now = std::make_shared<ChipState>();
  if (!describe(members, chip.marked, messages, *now)) {
    chip.recorded = nullptr;
    return false;
  }
  std::shared_ptr<const Stretch> known = memory.find(*now);
  if (chip.recorded && (known || chip.disturbances != disturbances ||
                        simulated(*now) - simulated(*chip.recorded->from) >=
                            size * (mustExamine ? kMinInstructions : kLongStretch)))
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
  messages = enter(members, *known->to, endOf(*known, *now), chip.marked);
  count(members, *known, 1);
  chip.replayed = std::move(known);
  chip.before = std::move(now);
  return true;
}

bool KnownStretches::rollBack(size_t index, const std::vector<size_t> &members, Picoseconds now) {
  Chip &chip = chips[index];
  if (!chip.replayed || now > chip.marked)
    return false;
  enter(members, *chip.before, chip.before->places, chip.before->time);
  count(members, *chip.replayed, -1);
  forget(index);
  return true;
}

} // namespace st::dtu
