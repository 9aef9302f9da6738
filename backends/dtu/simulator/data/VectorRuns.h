// Runs of vector instructions that may be carried out a strip at a time: the first few columns of
// all of them, then the next. A strip stays in the host's nearest cache from one instruction to
// the next, where whole tiles would pass through it again for each.
#pragma once

#include "backends/dtu/simulator/Decoded.h"

namespace st::dtu {

/// How many instructions a run has at most.
constexpr unsigned kMostRun = 24;

/// For each slot of `stream`, the length of the run that begins there, at least 2; else 0. The
/// instructions of a run work element by element on tiles of one size. What one of them writes
/// is to any other the very same tile, element for element, or apart from what that one touches.
std::vector<uint8_t> findVectorRuns(const DecodedProgram &program, const DecodedStream &stream);

} // namespace st::dtu
