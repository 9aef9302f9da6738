#include "backends/dtu/simulator/TaskMessages.h"

#include "backends/dtu/simulator/ControlFlow.h"

#include "absl/strings/str_cat.h"

namespace st::dtu {
namespace {

int64_t bytesOf(const LinkInst &link, const int64_t *registers) {
  std::vector<int64_t> sizes;
  for (const FlatExtent &size : link.dims.sizes)
    sizes.push_back(size(registers));
  const int64_t elements = volume(sizes.data(), sizes.size());
  return elements > 0 ? elements * byteWidth(link.type) : 0;
}

absl::Status runStream(const DecodedProgram &program, const DecodedStream &stream,
                       const RankConfig &rank, int64_t microBatch, TaskMessages &out) {
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
      out.messages.push_back({slot.opcode == Opcode::Send, registers[link.peer], link.channel,
                              bytesOf(link, registers)});
      absl::StrAppend(&out.text, "m;");
    } else if (slot.opcode == Opcode::Wait || slot.opcode == Opcode::Signal) {
      const SemaphoreInst &inst = program.semaphores[slot.index];
      absl::StrAppend(&out.text, slot.opcode == Opcode::Wait ? "w" : "s", inst.semaphore(registers),
                      ",", inst.count, ";");
    } else {
      fault = absl::StrCat("an instruction of kind ", static_cast<int>(slot.opcode),
                           " in a stream of messages");
    }
    ++position.pc;
  }
  return fault.empty() ? absl::OkStatus() : absl::InvalidArgumentError(fault);
}

} // namespace

absl::StatusOr<TaskMessages> messagesOf(const DecodedProgram &program, const RankConfig &rank,
                                        int64_t microBatch) {
  TaskMessages out;
  for (Engine engine : {Engine::Tx, Engine::Rx}) {
    int64_t instances = 0;
    for (const DecodedStream &stream : program.streams) {
      if (stream.engine != engine)
        continue;
      instances += stream.count;
      if (absl::Status status = runStream(program, stream, rank, microBatch, out); !status.ok())
        return status;
    }
    if (instances > 1)
      return absl::UnimplementedError(absl::StrCat("program '", program.source.name, "' has ",
                                                   instances, " instances on one kind of link"));
    out.text += '|';
  }
  return out;
}

} // namespace st::dtu
