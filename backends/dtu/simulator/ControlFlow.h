// What loops, index arithmetic and the rank table do to a stream instance; the
// same for data and for time.
#pragma once

#include "backends/dtu/simulator/Decoded.h"

#include <map>
#include <string>
#include <vector>

namespace st::dtu {

/// What the instances of a rank have loaded, in order, by entry of its schedule and instance.
using LoadedValues = std::map<std::pair<size_t, uint32_t>, std::vector<int64_t>>;

/// Where a stream instance is: its next slot and its registers.
struct StreamPosition {
  uint32_t pc = 0;
  int64_t registers[kNumRegisters] = {};
  int64_t limits[kMaxLoopDepth] = {}; ///< of the loops it is in
};

/// An instance of `stream` at the beginning of a task.
StreamPosition beginStream(int64_t instance, int64_t microBatch, int64_t rankInGroup);

inline bool isControl(Opcode opcode) { return opcode <= Opcode::Table || opcode == Opcode::Leave; }

/// Runs a slot for which isControl() holds and moves on. False on a fault, told in `fault`.
bool runControl(const DecodedProgram &program, Slot slot, const std::vector<int64_t> &table,
                StreamPosition &position, std::string &fault);

/// The semaphore an instruction names, or -1 and a fault.
int64_t semaphoreOf(const DecodedProgram &program, Slot slot, const int64_t *registers,
                    std::string &fault);

} // namespace st::dtu
