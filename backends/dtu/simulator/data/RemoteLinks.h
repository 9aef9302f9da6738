// The links to ranks that other processes simulate.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>

namespace st::dtu {

/// What a link message is; its bytes follow.
struct RemoteMessage {
  int64_t source = 0, destination = 0; ///< ranks
  int64_t channel = 0, bytes = 0;
};

/// Carries link messages between processes. Messages from one process to another arrive in the
/// order in which they were sent. Errors name the process that was lost or silent.
class RemoteLinks {
public:
  virtual ~RemoteLinks() = default;

  virtual int64_t numProcesses() const = 0;
  /// Which process simulates a rank.
  virtual int64_t processOf(int64_t rank) const = 0;
  virtual bool isHere(int64_t rank) const = 0;

  /// Returns before the message has arrived; `data` may change then. Thread-safe.
  virtual absl::Status send(const RemoteMessage &message, const uint8_t *data) = 0;

  /// Waits for the next message from `process`, whose bytes must be received before the next one.
  /// One thread a process may call these two.
  virtual absl::StatusOr<RemoteMessage> receive(int64_t process) = 0;
  virtual absl::Status receiveBytes(int64_t process, absl::Span<uint8_t> bytes) = 0;
};

} // namespace st::dtu
