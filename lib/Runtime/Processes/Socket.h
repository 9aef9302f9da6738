// TCP connections with deadlines.
#ifndef ST_LIB_RUNTIME_SOCKET_H
#define ST_LIB_RUNTIME_SOCKET_H

#include "lib/Runtime/Processes/Deadline.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>
#include <string>

namespace st {

/// Owns a descriptor.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : number(descriptor) {}
  Socket(Socket &&other) noexcept : number(other.number) { other.number = -1; }
  Socket &operator=(Socket &&other) noexcept;
  ~Socket() { close(); }

  int descriptor() const { return number; }
  bool isOpen() const { return number >= 0; }
  void close();

private:
  int number = -1;
};

/// A host is a name or a numeric address, as for getaddrinfo.
struct Endpoint {
  std::string host;
  int port = 0;

  /// "127.0.0.1:29500", "[::1]:29500"
  std::string text() const;
};

/// Returns true for a numeric loopback address.
bool isLoopback(const std::string &host);

/// The numeric addresses of the two ends of a connection.
Endpoint ownEnd(const Socket &socket);
Endpoint otherEnd(const Socket &socket);

/// Listens on an address of the host, or on all addresses of this machine if `host` is empty. Port
/// 0 lets the system choose.
absl::StatusOr<Socket> listenAt(const std::string &host, int port);

/// The next connection of a listening socket; not open if there is none.
absl::StatusOr<Socket> acceptFrom(const Socket &listener);

/// Tries every address of the host once.
absl::StatusOr<Socket> connectTo(const Endpoint &to, Clock::time_point deadline);

/// Disables delays for small messages, and detects a lost machine within about `seconds`.
void setUpConnection(const Socket &socket, double seconds);

/// Transfers all bytes. DeadlineExceeded after the deadline, OutOfRange if the other side closed
/// the connection.
absl::Status sendAll(const Socket &socket, absl::Span<const uint8_t> bytes,
                     Clock::time_point deadline);
absl::Status receiveAll(const Socket &socket, absl::Span<uint8_t> bytes,
                        Clock::time_point deadline);

} // namespace st

#endif // ST_LIB_RUNTIME_SOCKET_H
