// Runs of vector instructions that can be executed strip by strip: the first few columns of all
// instructions, then the next. A strip stays in the host's L1 cache from one instruction to the
// next, whereas complete tiles would be evicted in between.
#pragma once

#include "backends/dtu/simulator/Decoded.h"

namespace st::dtu {

/// The largest number of instructions in a run.
constexpr unsigned kMaxRun = 24;

/// For each slot of `stream`, returns the length of the run that begins there, at least 2; else 0.
/// The instructions of a run work element by element on tiles of one size. If one of two tiles is
/// written, they are either the same tile, element for element, or disjoint.
std::vector<uint8_t> findVectorRuns(const DecodedProgram &program, const DecodedStream &stream);

} // namespace st::dtu
