// What a task says over the links, without its time: tx and rx streams run for
// their control flow alone, which no data and no other stream decides.
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"

#include "absl/status/statusor.h"

#include <string>
#include <vector>

namespace st::dtu {

struct TaskMessage {
  bool isSend = false;
  int64_t peer = 0, channel = 0, bytes = 0;
};

struct TaskMessages {
  /// In the order of the tx stream, then of the rx stream.
  std::vector<TaskMessage> messages;
  /// What the streams do between messages: waits and signals, so that equal texts and equal
  /// messages mean equal streams.
  std::string text;
};

/// The messages of `program` as run by `rank`. An error where a rank has several instances that
/// send or several that receive: their order is then one of time.
absl::StatusOr<TaskMessages> messagesOf(const DecodedProgram &program, const RankConfig &rank,
                                        int64_t microBatch);

} // namespace st::dtu
