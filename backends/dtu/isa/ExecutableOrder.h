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
  bool isStepProven = false; ///< and not left out because a program was not followed
  int64_t messages = 0;      ///< between ranks in a step
};

/// Proves
///
/// - of each program that it is free of races and waits for nothing but messages (proveOrder). Runs
///   of a program are one for this if it reads the same entries of the rank table but for peers,
///   and neither the rank nor the micro-batch where these are not the same;
/// - of the step that all messages arrive: by rank, sends and receives in an order in which the
///   programs allow them are run against each other, sends never waiting. Then no rank waits for
///   ever, each receive gets as many bytes as it takes, and no message is left.
///
/// At most `work` instructions are followed, first one run of each program. The programs must be
/// valid. An error is one line that names the group, the rank, the program and the instructions.
absl::StatusOr<ExecutableOrder> proveOrder(const proto::Executable &executable, int64_t work);

} // namespace st::dtu
