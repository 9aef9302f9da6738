// Where processes that join each other meet first, among whoever else connects.
#ifndef ST_LIB_RUNTIME_TCPLOBBY_H
#define ST_LIB_RUNTIME_TCPLOBBY_H

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

/// Each message begins so, in every version.
struct Handshake {
  char magic[8];
  uint32_t version;

  static Handshake own();
  /// Whether such a process says it, of any version.
  bool isOurs() const;
};

struct Hello {
  Handshake handshake;
  uint32_t port;     ///< at which the process listens; to process 0 only
  int64_t processes; ///< of the group, as this process knows
  int64_t process;   ///< this one
  uint8_t key[16];   ///< of the group; not to process 0, which draws it
};

/// What goes over a connection as it lies in memory.
template <typename Plain> absl::Span<uint8_t> bytesOf(Plain &plain) {
  return absl::MakeSpan(reinterpret_cast<uint8_t *>(&plain), sizeof plain);
}

/// One who has connected to where this process listens.
struct JoiningPeer {
  Socket socket;
  Hello hello;
  size_t done = 0; ///< bytes of the hello that have come
};

/// Where others connect. Strangers may, too, and say anything or nothing.
class Rendezvous {
public:
  Rendezvous(Socket listener, double seconds, Clock::time_point deadline)
      : listener(std::move(listener)), seconds(seconds), deadline(deadline) {}

  /// The next one that says hello; DeadlineExceeded if none comes. One of those that have `joined`
  /// and is lost is OutOfRange, and `lost` is its place.
  absl::StatusOr<JoiningPeer> next(absl::Span<const Socket> joined, int64_t &lost);

  /// For errors: what strangers came, or nothing.
  std::string strangers() const;

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

#endif // ST_LIB_RUNTIME_TCPLOBBY_H
