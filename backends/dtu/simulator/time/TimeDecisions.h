// The operands of an instruction that decide its duration or what runs next: sizes, cores and
// semaphores. Addresses, data and registers that only compute addresses do not count.
#pragma once

#include "backends/dtu/isa/Registers.h"
#include "backends/dtu/simulator/Decoded.h"

#include <vector>

namespace st::dtu {

inline void addRegisters(RegisterSet &set, const FlatAffine &affine) {
  for (uint32_t i = 0; i < affine.count; ++i)
    set.set(affine.regs[i]);
}

/// Calls `extent` with each size, and `exact` with each core and semaphore, of an instruction that
/// is neither control flow nor a load.
template <typename Extents, typename Exacts>
void visitDecisions(const DecodedProgram &program, Slot slot, Extents &&extent, Exacts &&exact) {
  auto place = [&](const FlatAddress &address) {
    if (address.space == Space::L1)
      exact(address.core);
  };
  auto dims = [&](const FlatDims &dims) {
    for (const FlatExtent &size : dims.sizes)
      extent(size);
  };
  switch (slot.opcode) {
  case Opcode::Wait:
  case Opcode::Signal:
    exact(program.semaphores[slot.index].semaphore);
    break;
  case Opcode::Copy:
    place(program.copies[slot.index].dst);
    place(program.copies[slot.index].src);
    dims(program.copies[slot.index].dims);
    break;
  case Opcode::Fill:
    place(program.fills[slot.index].dst);
    dims(program.fills[slot.index].dims);
    break;
  case Opcode::Gather:
  case Opcode::Scatter: {
    const RowsInst &rows = program.rows[slot.index];
    place(rows.table);
    place(rows.other);
    place(rows.index);
    extent(rows.count);
    extent(rows.rowElements);
    break;
  }
  case Opcode::Matmul:
    extent(program.matmuls[slot.index].m);
    extent(program.matmuls[slot.index].n);
    extent(program.matmuls[slot.index].k);
    break;
  case Opcode::Vector:
    extent(program.vectors[slot.index].rows);
    extent(program.vectors[slot.index].cols);
    break;
  case Opcode::Send:
  case Opcode::Recv:
    place(program.links[slot.index].address);
    dims(program.links[slot.index].dims);
    break;
  default:
    break;
  }
}

/// The registers that still decide something at each slot of a stream and after its last one.
/// `withPeers`: peers of messages count as well.
std::vector<RegisterSet> liveRegisters(const DecodedProgram &program, const DecodedStream &stream,
                                       bool withPeers);

} // namespace st::dtu
