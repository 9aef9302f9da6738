#include "backends/dtu/simulator/ControlFlow.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace st::dtu {

StreamPosition beginStream(int64_t instance, int64_t microBatch, int64_t rankInGroup) {
  StreamPosition position;
  position.registers[kInstance] = instance;
  position.registers[kMicroBatch] = microBatch;
  position.registers[kRank] = rankInGroup;
  return position;
}

bool runControl(const DecodedProgram &program, Slot slot, const std::vector<int64_t> &table,
                StreamPosition &position, std::string &fault) {
  int64_t *registers = position.registers;
  switch (slot.opcode) {
  case Opcode::Loop: {
    const LoopInst &loop = program.loops[slot.index];
    int64_t first = loop.start(registers), limit = loop.limit(registers);
    position.limits[loop.depth] = limit;
    registers[loop.reg] = first;
    position.pc = first < limit ? position.pc + 1 : loop.end + 1;
    return true;
  }
  case Opcode::EndLoop: {
    const LoopInst &loop = program.loops[slot.index];
    int64_t value = registers[loop.reg], limit = position.limits[loop.depth];
    // The counter is below the limit, so the difference is exact as unsigned.
    uint64_t left = static_cast<uint64_t>(limit) - static_cast<uint64_t>(value);
    bool again = left > static_cast<uint64_t>(loop.step);
    if (again)
      registers[loop.reg] = value + loop.step;
    position.pc = again ? loop.begin + 1 : position.pc + 1;
    return true;
  }
  case Opcode::Leave: {
    const LeaveInst &leave = program.leaves[slot.index];
    if (registers[leave.unless] == 0)
      position.pc = program.loops[leave.loop].end;
    break;
  }
  case Opcode::Index: {
    const IndexInst &inst = program.indices[slot.index];
    int64_t value = inst.value(registers);
    if (value < 0) {
      fault = absl::StrCat("index of the negative value ", value);
      return false;
    }
    value /= inst.divide;
    if (inst.modulo)
      value %= inst.modulo;
    registers[inst.dst] =
        static_cast<int64_t>(static_cast<uint64_t>(value) * static_cast<uint64_t>(inst.multiply));
    break;
  }
  default: {
    const TableInst &inst = program.tables[slot.index];
    int64_t at = inst.index(registers);
    int64_t size = std::min(program.source.tableSize, static_cast<int64_t>(table.size()));
    if (at < 0 || at >= size) {
      fault = absl::StrCat("entry ", at, " of a rank table with ", size, " entries");
      return false;
    }
    registers[inst.dst] = table[static_cast<size_t>(at)];
    break;
  }
  }
  ++position.pc;
  return true;
}

std::string noSuchSemaphore(const DecodedProgram &program, int64_t semaphore) {
  return absl::StrCat("semaphore ", semaphore, ", but the program has only ",
                      program.source.semaphores);
}

} // namespace st::dtu
