// Proof that the programs of an executable, each run in its rank's schedule, neither wait for ever
// nor race.
#pragma once

#include "lib/Proto/executable.pb.h"

#include "absl/status/statusor.h"

#include <cstdint>

namespace st::dtu {

struct ExecutableOrder {
  int64_t runs = 0;          ///< runs of a program that differ in what a proof may depend on
  int64_t proven = 0;        ///< of these those that were followed; as many unless work ran out
  int64_t executed = 0;      ///< instructions that proofs followed
  bool isStepProven = false; ///< free of deadlock, and not left out because work ran out
  int64_t messages = 0;      ///< between ranks in a step
};

/// Proves
///
/// - of each run of a program that it waits for nothing but messages, and of the step that all of
///   these arrive (StepMessages.h);
/// - of each program that it is free of races (proveOrder). Runs of a program are one for this if
///   it reads the same entries of the rank table but for peers, and neither the rank nor the
///   micro-batch where these are not the same. At most `work` instructions are followed, first one
///   run of each program, a few runs at a time on as many threads; of skeletons, which cost less,
///   several times as many.
///
/// The programs must be valid. An error is one line that names the group, the rank, the program and
/// the instructions.
absl::StatusOr<ExecutableOrder> proveOrder(const proto::Executable &executable, int64_t work);

} // namespace st::dtu
