#include "backends/dtu/simulator/replay/TaskMessages.h"

#include "backends/dtu/simulator/ControlFlow.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <map>

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
  std::map<std::pair<uint32_t, int64_t>, int64_t> sent;
  for (const MessageScript::Step &step : script.steps)
    if (step.opcode == Opcode::Send)
      ++sent[{step.peer, step.amount}];
  for (const auto &[what, count] : sent)
    script.sent.push_back({what.first, what.second, count});
  return scripts.emplace(hash, std::make_shared<const MessageScript>(std::move(script)))->second;
}

absl::StatusOr<TaskMessages> messagesOf(const DecodedProgram &program, const RankConfig &rank,
                                        int64_t microBatch, MessageScripts &scripts) {
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
  out.script = scripts.intern(std::move(script));
  return out;
}

} // namespace st::dtu
