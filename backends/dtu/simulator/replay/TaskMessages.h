// The messages of a task over the links, without times. The tx and rx streams run for their control
// flow alone, which depends neither on data nor on other streams.
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"
#include "backends/dtu/simulator/replay/RankValues.h"

#include "absl/status/statusor.h"

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace st::dtu {

/// The work of tx and rx streams without the peers' identities; equal for all ranks of a ring.
struct MessageScript {
  struct Step {
    Opcode opcode = Opcode::Send; ///< Send, Recv, Wait or Signal
    uint32_t peer = 0;            ///< of a message: an index in TaskMessages::peers; otherwise a
                                  ///< semaphore
    uint32_t channel = 0;         ///< an index in TaskMessages::channels
    int64_t amount = 0;           ///< bytes, or the count to wait for or to signal

    bool operator==(const Step &other) const {
      return opcode == other.opcode && peer == other.peer && channel == other.channel &&
             amount == other.amount;
    }
  };
  /// Messages of one size to one peer.
  struct Sent {
    uint32_t peer;
    int64_t bytes, count;
  };
  std::vector<Step> steps; ///< of the tx stream, then of the rx stream
  size_t txSteps = 0;
  std::vector<Sent> sent;
  int64_t id = 0; ///< unique within one MessageScripts
};

struct TaskMessages {
  std::shared_ptr<const MessageScript> script;
  std::vector<int64_t> peers, channels; ///< in the order in which the script first names them
};

/// Reads the messages of tasks. Stores distinct scripts once, and runs a program once if its ranks
/// differ only in the peers of their messages.
class MessageScripts {
public:
  /// The messages of `program` as `rank` runs it. An error if several instances of a rank send, or
  /// several receive: their order would depend on time. The program must outlive this.
  absl::StatusOr<TaskMessages> messagesOf(const DecodedProgram &program, const RankConfig &rank,
                                          int64_t microBatch);

private:
  /// The messages of a program for all ranks.
  struct ForAll {
    explicit ForAll(int64_t tableSize) : values(tableSize) {}

    RankValues values;
    std::shared_ptr<const MessageScript> script; ///< for a rank whose peers are distinct
    std::vector<RankValues::Value> peers;
    std::vector<int64_t> channels;
    /// The script for ranks with several peers of one value, by the numbers of the peers.
    std::map<std::vector<uint32_t>, std::shared_ptr<const MessageScript>> merged;
  };

  /// Null if ranks may run different instructions, or at an error.
  std::unique_ptr<ForAll> runForAll(const DecodedProgram &program);
  TaskMessages withPeers(ForAll &known, const std::vector<int64_t> &values);
  absl::StatusOr<TaskMessages> run(const DecodedProgram &program, const RankConfig &rank,
                                   int64_t microBatch);
  std::shared_ptr<const MessageScript> intern(MessageScript script);

  std::unordered_multimap<uint64_t, std::shared_ptr<const MessageScript>> scripts;
  std::unordered_map<const DecodedProgram *, std::unique_ptr<ForAll>> forAll;
};

} // namespace st::dtu
