// Proves that the programs of an executable, each run in its rank's schedule, neither deadlock nor
// race.
#pragma once

#include "lib/Proto/executable.pb.h"

#include "absl/status/statusor.h"

#include <cstdint>

namespace st::dtu {

struct ExecutableOrder {
  int64_t runs = 0;          ///< runs of a program that differ in something a proof may depend on
  int64_t proven = 0;        ///< the runs that were followed; all of them unless the budget ran out
  int64_t executed = 0;      ///< instructions that proofs followed
  bool isStepProven = false; ///< free of deadlock; false if the budget ran out
  int64_t messages = 0;      ///< between ranks in a step
};

/// Proves
///
/// - that each run of a program waits only for messages, and that all messages of the step
///   arrive (StepMessages.h);
/// - that each program is free of races (proveOrder). Two runs of a program count as one if the
///   program reads the same rank table entries except peers, and does not read the rank or the
///   micro-batch if these differ. Follows at most `work` instructions: first one run of each
///   program, with a few runs at a time on separate threads. Skeletons cost less, so several times
///   as many of their instructions are followed.
///
/// The programs must be valid. An error is one line that names the group, the rank, the program and
/// the instructions.
absl::StatusOr<ExecutableOrder> proveOrder(const proto::Executable &executable, int64_t work);

} // namespace st::dtu
