// What a task says over the links, without its time: tx and rx streams run for
// their control flow alone, which no data and no other stream decides.
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"

#include "absl/status/statusor.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace st::dtu {

/// What tx and rx streams do but for who the peers are: equal for the ranks of a ring.
struct MessageScript {
  struct Step {
    Opcode opcode = Opcode::Send; ///< Send, Recv, Wait or Signal
    uint32_t peer = 0;            ///< of a message: index in TaskMessages::peers; else a semaphore
    uint32_t channel = 0;         ///< index in TaskMessages::channels
    int64_t amount = 0;           ///< bytes, or what is waited for or signalled

    bool operator==(const Step &other) const {
      return opcode == other.opcode && peer == other.peer && channel == other.channel &&
             amount == other.amount;
    }
  };
  /// Messages sent to a peer that are of one size.
  struct Sent {
    uint32_t peer;
    int64_t bytes, count;
  };
  std::vector<Step> steps; ///< of the tx stream, then of the rx stream
  size_t txSteps = 0;
  std::vector<Sent> sent;
  int64_t id = 0; ///< among the scripts of one collection
};

/// Scripts, each kept once.
class MessageScripts {
public:
  std::shared_ptr<const MessageScript> intern(MessageScript script);

private:
  std::unordered_multimap<uint64_t, std::shared_ptr<const MessageScript>> scripts;
};

struct TaskMessages {
  std::shared_ptr<const MessageScript> script;
  std::vector<int64_t> peers, channels; ///< in the order in which the script first names them
};

/// The messages of `program` as run by `rank`. An error where a rank has several instances that
/// send or several that receive: their order is then one of time.
absl::StatusOr<TaskMessages> messagesOf(const DecodedProgram &program, const RankConfig &rank,
                                        int64_t microBatch, MessageScripts &scripts);

} // namespace st::dtu
