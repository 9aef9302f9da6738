// The links to ranks that other processes simulate.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>

namespace st::dtu {

/// Header of a link message; its bytes follow.
struct RemoteMessage {
  int64_t source = 0, destination = 0; ///< ranks
  int64_t channel = 0, bytes = 0;
};

/// Carries link messages between processes. Messages between two processes arrive in the order in
/// which they were sent. Errors name the process that was lost or did not respond.
class RemoteLinks {
public:
  virtual ~RemoteLinks() = default;

  virtual int64_t numProcesses() const = 0;
  /// Returns the process that simulates a rank.
  virtual int64_t processOf(int64_t rank) const = 0;
  virtual bool isLocal(int64_t rank) const = 0;

  /// Returns before the message has arrived; the caller may then reuse `data`. Thread-safe.
  virtual absl::Status send(const RemoteMessage &message, const uint8_t *data) = 0;

  /// Waits for the next message from `process`. Its bytes must be received before the next message.
  /// Only one thread per process may call these two.
  virtual absl::StatusOr<RemoteMessage> receive(int64_t process) = 0;
  virtual absl::Status receiveBytes(int64_t process, absl::Span<uint8_t> bytes) = 0;
};

} // namespace st::dtu
