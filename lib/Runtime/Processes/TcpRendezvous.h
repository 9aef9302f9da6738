// The rendezvous of processes that join a group: accepts connections and rejects those of other
// programs.
#ifndef ST_LIB_RUNTIME_TCPRENDEZVOUS_H
#define ST_LIB_RUNTIME_TCPRENDEZVOUS_H

#include "lib/Runtime/Processes/Socket.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>
#include <list>
#include <string>
#include <utility>

namespace st {

constexpr uint32_t kJoinVersion = 1;

/// The start of each message, in every version.
struct Handshake {
  char magic[8];
  uint32_t version;

  static Handshake own();
  /// Returns true if the sender is a training binary of any version.
  bool isOfTrainingBinary() const;
};

struct Hello {
  Handshake handshake;
  uint32_t port;     ///< at which the process listens; sent to process 0 only
  int64_t processes; ///< size of the group, as this process knows it
  int64_t process;   ///< number of this process
  uint8_t key[16];   ///< of the group; not sent to process 0, which draws it
};

/// The wire format of a struct is its memory.
template <typename Plain> absl::Span<uint8_t> bytesOf(Plain &plain) {
  return absl::MakeSpan(reinterpret_cast<uint8_t *>(&plain), sizeof plain);
}

/// A process that has connected to this one.
struct JoiningPeer {
  Socket socket;
  Hello hello;
  size_t done = 0; ///< received bytes of the handshake
};

/// Accepts connections. Unrelated processes may connect too and send arbitrary data or no data.
class Rendezvous {
public:
  Rendezvous(Socket listener, double seconds, Clock::time_point deadline)
      : listener(std::move(listener)), seconds(seconds), deadline(deadline) {}

  /// Returns the next peer that sends a handshake, or DeadlineExceeded if none does. If one of
  /// `joined` is lost, returns OutOfRange and sets `lost` to its index.
  absl::StatusOr<JoiningPeer> next(absl::Span<const Socket> joined, int64_t &lost);

  /// For errors: describes the unrelated processes that connected. Empty if there were none.
  std::string describeUnexpectedPeers() const;

private:
  enum class Step { kMore, kDone, kStranger };
  static Step read(JoiningPeer &peer);
  absl::Status accept();

  Socket listener;
  double seconds;
  Clock::time_point deadline;
  std::list<JoiningPeer> waiting;
  int64_t numStrangers = 0;
  std::string lastStranger;
};

} // namespace st

#endif // ST_LIB_RUNTIME_TCPRENDEZVOUS_H
