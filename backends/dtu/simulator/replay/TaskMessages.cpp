#include "backends/dtu/simulator/replay/TaskMessages.h"

#include "backends/dtu/simulator/ControlFlow.h"
#include "backends/dtu/simulator/time/TimeDecisions.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <array>

namespace st::dtu {
namespace {

int64_t bytesOf(const LinkInst &link, const int64_t *registers) {
  int64_t elements = 1;
  for (const FlatExtent &size : link.dims.sizes) {
    const int64_t extent = size(registers);
    elements = volume(std::array<int64_t, 2>{elements, extent}.data(), 2);
  }
  return elements > 0 ? elements * byteWidth(link.type) : 0;
}

uint32_t indexIn(std::vector<int64_t> &values, int64_t value) {
  const auto at = std::find(values.begin(), values.end(), value) - values.begin();
  if (static_cast<size_t>(at) == values.size())
    values.push_back(value);
  return static_cast<uint32_t>(at);
}

absl::Status runStream(const DecodedProgram &program, const DecodedStream &stream,
                       const RankConfig &rank, int64_t microBatch, MessageScript &script,
                       TaskMessages &out) {
  StreamPosition position = beginStream(0, microBatch, rank.rankInGroup);
  std::string fault;
  while (position.pc < stream.slots.size() && fault.empty()) {
    const Slot slot = stream.slots[position.pc];
    if (isControl(slot.opcode)) {
      runControl(program, slot, rank.table, position, fault);
      continue;
    }
    const int64_t *registers = position.registers;
    if (slot.opcode == Opcode::Send || slot.opcode == Opcode::Recv) {
      const LinkInst &link = program.links[slot.index];
      script.steps.push_back({slot.opcode, indexIn(out.peers, registers[link.peer]),
                              indexIn(out.channels, link.channel), bytesOf(link, registers)});
    } else if (slot.opcode == Opcode::Wait || slot.opcode == Opcode::Signal) {
      const SemaphoreInst &inst = program.semaphores[slot.index];
      script.steps.push_back(
          {slot.opcode, static_cast<uint32_t>(inst.semaphore(registers)), 0, inst.count});
    } else {
      fault = absl::StrCat("an instruction of kind ", static_cast<int>(slot.opcode),
                           " in a stream of messages");
    }
    ++position.pc;
  }
  return fault.empty() ? absl::OkStatus() : absl::InvalidArgumentError(fault);
}

/// Runs a stream for all ranks at once. Registers hold values of RankValues; registers that affect
/// no decision and name no peer are omitted.
class RunForAll {
public:
  RunForAll(const DecodedProgram &program, RankValues &values, MessageScript &script,
            std::vector<RankValues::Value> &peers, std::vector<int64_t> &channels)
      : program(program), values(values), script(script), peers(peers), channels(channels) {}

  /// Returns false if ranks may run different instructions, or at an error.
  bool run(const DecodedStream &stream);

private:
  bool control(Slot slot, const std::vector<RegisterSet> &live);
  bool loop(const LoopInst &loop);
  bool link(Slot slot);
  bool isShared(uint8_t reg) const { return reg == kZero || registers[reg].isShared; }
  /// The registers as numbers, for operands that are shared.
  const int64_t *numbers();

  const DecodedProgram &program;
  RankValues &values;
  MessageScript &script;
  std::vector<RankValues::Value> &peers;
  std::vector<int64_t> &channels;
  uint32_t pc = 0;
  std::array<RankValues::Value, kNumRegisters> registers;
  std::array<int64_t, kNumRegisters> shared;
  std::array<int64_t, kMaxLoopDepth> limits;
};

const int64_t *RunForAll::numbers() {
  for (size_t reg = 0; reg < kNumRegisters; ++reg)
    shared[reg] = registers[reg].isShared ? registers[reg].number : 0;
  return shared.data();
}

bool RunForAll::run(const DecodedStream &stream) {
  const std::vector<RegisterSet> live = liveRegisters(program, stream, /*withPeers=*/true);
  registers.fill({});
  registers[kRank] = values.rank();
  registers[kMicroBatch] = values.microBatch();
  pc = 0;
  while (pc < stream.slots.size()) {
    const Slot slot = stream.slots[pc];
    switch (slot.opcode) {
    case Opcode::Send:
    case Opcode::Recv:
      if (!link(slot))
        return false;
      break;
    case Opcode::Wait:
    case Opcode::Signal: {
      const SemaphoreInst &inst = program.semaphores[slot.index];
      const RankValues::Value semaphore = values.affine(inst.semaphore, registers.data());
      if (!semaphore.isShared)
        return false;
      script.steps.push_back({slot.opcode, static_cast<uint32_t>(semaphore.number), 0, inst.count});
      break;
    }
    default:
      if (!isControl(slot.opcode) || !control(slot, live))
        return false;
      continue;
    }
    ++pc;
  }
  return true;
}

bool RunForAll::control(Slot slot, const std::vector<RegisterSet> &live) {
  switch (slot.opcode) {
  case Opcode::Loop:
    return loop(program.loops[slot.index]);
  case Opcode::EndLoop: {
    const LoopInst &loop = program.loops[slot.index];
    int64_t &value = registers[loop.reg].number;
    const bool again = static_cast<uint64_t>(limits[loop.depth]) - static_cast<uint64_t>(value) >
                       static_cast<uint64_t>(loop.step);
    value += again ? loop.step : 0;
    pc = again ? loop.begin + 1 : pc + 1;
    return true;
  }
  case Opcode::Leave: {
    const LeaveInst &leave = program.leaves[slot.index];
    if (!isShared(leave.unless))
      return false;
    pc = registers[leave.unless].number == 0 ? program.loops[leave.loop].end + 1 : pc + 1;
    return true;
  }
  case Opcode::Index: {
    const IndexInst &inst = program.indices[slot.index];
    if (live[pc + 1].test(inst.dst)) {
      const std::optional<RankValues::Value> value = values.index(inst, registers.data());
      if (!value)
        return false;
      registers[inst.dst] = *value;
    }
    break;
  }
  default: {
    const TableInst &inst = program.tables[slot.index];
    if (live[pc + 1].test(inst.dst))
      registers[inst.dst] = values.table(inst, registers.data());
    break;
  }
  }
  ++pc;
  return true;
}

bool RunForAll::loop(const LoopInst &loop) {
  const RankValues::Value first = values.affine(loop.start, registers.data()),
                          limit = values.affine(loop.limit, registers.data());
  if (!first.isShared || !limit.isShared)
    return false;
  limits[loop.depth] = limit.number;
  registers[loop.reg] = first;
  pc = first.number < limit.number ? pc + 1 : loop.end + 1;
  return true;
}

bool RunForAll::link(Slot slot) {
  const LinkInst &link = program.links[slot.index];
  for (const FlatExtent &size : link.dims.sizes)
    if (!isShared(size.reg))
      return false;
  const RankValues::Value peer = registers[link.peer];
  const auto at = std::find_if(peers.begin(), peers.end(), [&](const RankValues::Value &other) {
    return other.isShared == peer.isShared && other.number == peer.number;
  });
  const auto number = static_cast<uint32_t>(at - peers.begin());
  if (at == peers.end())
    peers.push_back(peer);
  script.steps.push_back(
      {slot.opcode, number, indexIn(channels, link.channel), bytesOf(link, numbers())});
  return true;
}

uint64_t hashOf(const MessageScript &script) {
  uint64_t hash = script.txSteps;
  for (const MessageScript::Step &step : script.steps)
    for (uint64_t value : {static_cast<uint64_t>(step.opcode), static_cast<uint64_t>(step.peer),
                           static_cast<uint64_t>(step.channel), static_cast<uint64_t>(step.amount)})
      hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
  return hash;
}

} // namespace

std::shared_ptr<const MessageScript> MessageScripts::intern(MessageScript script) {
  const uint64_t hash = hashOf(script);
  auto [begin, end] = scripts.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (it->second->txSteps == script.txSteps && it->second->steps == script.steps)
      return it->second;
  script.id = static_cast<int64_t>(scripts.size());
  script.steps.shrink_to_fit();
  script.sent.clear();
  std::map<std::pair<uint32_t, int64_t>, int64_t> sent;
  for (const MessageScript::Step &step : script.steps)
    if (step.opcode == Opcode::Send)
      ++sent[{step.peer, step.amount}];
  for (const auto &[what, count] : sent)
    script.sent.push_back({what.first, what.second, count});
  return scripts.emplace(hash, std::make_shared<const MessageScript>(std::move(script)))->second;
}

absl::StatusOr<TaskMessages> MessageScripts::messagesOf(const DecodedProgram &program,
                                                        const RankConfig &rank,
                                                        int64_t microBatch) {
  auto [at, isNew] = forAll.try_emplace(&program);
  if (isNew)
    at->second = runForAll(program);
  if (at->second)
    if (std::optional<std::vector<int64_t>> values = at->second->values.evaluate(rank, microBatch))
      return withPeers(*at->second, *values);
  return run(program, rank, microBatch);
}

std::unique_ptr<MessageScripts::ForAll> MessageScripts::runForAll(const DecodedProgram &program) {
  auto result = std::make_unique<ForAll>(program.source.tableSize);
  MessageScript script;
  RunForAll run(program, result->values, script, result->peers, result->channels);
  for (Engine engine : {Engine::Tx, Engine::Rx}) {
    int64_t instances = 0;
    for (const DecodedStream &stream : program.streams) {
      if (stream.engine != engine)
        continue;
      instances += stream.count;
      if (instances > 1 || !run.run(stream))
        return nullptr;
    }
    if (engine == Engine::Tx)
      script.txSteps = script.steps.size();
  }
  result->script = intern(std::move(script));
  return result;
}

/// Numbers the rank's peers. Expressions with one value get one number.
TaskMessages MessageScripts::withPeers(ForAll &known, const std::vector<int64_t> &values) {
  TaskMessages out{known.script, {}, known.channels};
  std::vector<uint32_t> numbers;
  for (const RankValues::Value &peer : known.peers)
    numbers.push_back(
        indexIn(out.peers, peer.isShared ? peer.number : values[static_cast<size_t>(peer.number)]));
  if (out.peers.size() == numbers.size())
    return out;
  std::shared_ptr<const MessageScript> &merged = known.merged[numbers];
  if (!merged) {
    MessageScript script = *known.script;
    for (MessageScript::Step &step : script.steps)
      if (step.opcode == Opcode::Send || step.opcode == Opcode::Recv)
        step.peer = numbers[step.peer];
    merged = intern(std::move(script));
  }
  out.script = merged;
  return out;
}

absl::StatusOr<TaskMessages> MessageScripts::run(const DecodedProgram &program,
                                                 const RankConfig &rank, int64_t microBatch) {
  TaskMessages out;
  MessageScript script;
  for (Engine engine : {Engine::Tx, Engine::Rx}) {
    int64_t instances = 0;
    for (const DecodedStream &stream : program.streams) {
      if (stream.engine != engine)
        continue;
      instances += stream.count;
      if (absl::Status status = runStream(program, stream, rank, microBatch, script, out);
          !status.ok())
        return status;
    }
    if (instances > 1)
      return absl::UnimplementedError(absl::StrCat("program '", program.source.name, "' has ",
                                                   instances, " instances on one kind of link"));
    if (engine == Engine::Tx)
      script.txSteps = script.steps.size();
  }
  out.script = intern(std::move(script));
  return out;
}

} // namespace st::dtu
