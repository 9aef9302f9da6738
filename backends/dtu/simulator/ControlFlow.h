// Loops, index arithmetic and the rank table: their effect on a stream instance, shared by the data
// engine and the time engine.
#pragma once

#include "backends/dtu/simulator/Decoded.h"

#include <map>
#include <string>
#include <vector>

namespace st::dtu {

/// The values that each instance of a rank has loaded, in order, keyed by schedule entry and
/// instance.
using LoadedValues = std::map<std::pair<size_t, uint32_t>, std::vector<int64_t>>;

/// The state of a stream instance: its next slot, its registers and its loop limits.
struct StreamPosition {
  uint32_t pc = 0;
  int64_t registers[kNumRegisters] = {};
  int64_t limits[kMaxLoopDepth] = {}; ///< of the enclosing loops
};

/// An instance of `stream` at the beginning of a task.
StreamPosition beginStream(int64_t instance, int64_t microBatch, int64_t rankInGroup);

inline bool isControl(Opcode opcode) { return opcode <= Opcode::Table || opcode == Opcode::Leave; }

/// Runs a slot for which isControl() holds and advances. Returns false on a fault, described in
/// `fault`.
bool runControl(const DecodedProgram &program, Slot slot, const std::vector<int64_t> &table,
                StreamPosition &position, std::string &fault);

std::string noSuchSemaphore(const DecodedProgram &program, int64_t semaphore);

/// The semaphore an instruction names, or -1 and a fault.
inline int64_t semaphoreOf(const DecodedProgram &program, Slot slot, const int64_t *registers,
                           std::string &fault) {
  const int64_t at = program.semaphores[slot.index].semaphore(registers);
  if (at >= 0 && at < program.source.semaphores)
    return at;
  fault = noSuchSemaphore(program, at);
  return -1;
}

} // namespace st::dtu
