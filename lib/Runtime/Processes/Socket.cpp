#include "lib/Runtime/Processes/Socket.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace st {
namespace {

absl::Status systemError() { return absl::UnavailableError(std::strerror(errno)); }

void setOption(int descriptor, int level, int name, int value) {
  // A missing option only costs speed or delays error detection.
  (void)::setsockopt(descriptor, level, name, &value, sizeof value);
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

absl::StatusOr<Addresses> findAddresses(const Endpoint &of) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo *found = nullptr;
  const int error = ::getaddrinfo(of.host.c_str(), std::to_string(of.port).c_str(), &hints, &found);
  if (error != 0)
    return absl::UnavailableError(
        absl::StrCat("unknown host \"", of.host,
                     "\": ", error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error)));
  return Addresses(found, ::freeaddrinfo);
}

using NameOf = int (*)(int, sockaddr *, socklen_t *);

Endpoint endOf(const Socket &socket, NameOf nameOf) {
  union {
    sockaddr any;
    sockaddr_in ip4;
    sockaddr_in6 ip6;
    sockaddr_storage all;
  } address = {};
  socklen_t length = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (nameOf(socket.descriptor(), &address.any, &length) != 0)
    return {};
  if (address.any.sa_family == AF_INET) {
    ::inet_ntop(AF_INET, &address.ip4.sin_addr, text, sizeof text);
    return {text, ntohs(address.ip4.sin_port)};
  }
  // On a dual-stack socket, IPv4 addresses appear mapped into IPv6.
  const in6_addr &ip6 = address.ip6.sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&ip6))
    ::inet_ntop(AF_INET, ip6.s6_addr + 12, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, &ip6, text, sizeof text);
  return {text, ntohs(address.ip6.sin6_port)};
}

/// Returns a socket that is not open if the address is unavailable; errno has the reason.
Socket tryToListen(const sockaddr *address, socklen_t length) {
  Socket socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.isOpen())
    return socket;
  setOption(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address->sa_family == AF_INET6)
    setOption(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.descriptor(), address, length) == 0 &&
      ::listen(socket.descriptor(), SOMAXCONN) == 0)
    return socket;
  return Socket();
}

absl::Status waitFor(const Socket &socket, short events, Clock::time_point deadline) {
  pollfd polled = {socket.descriptor(), events, 0};
  while (true) {
    const int ready = ::poll(&polled, 1, millisecondsUntil(deadline));
    if (ready > 0)
      return absl::OkStatus();
    if (ready < 0 && errno != EINTR)
      return systemError();
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError("time is over");
  }
}

/// Calls `move` until all bytes are transferred.
template <typename Move>
absl::Status moveAll(const Socket &socket, size_t size, short events, Clock::time_point deadline,
                     Move move) {
  for (size_t done = 0; done < size;) {
    const ssize_t moved = move(done);
    if (moved > 0) {
      done += static_cast<size_t>(moved);
    } else if (moved == 0 || errno == ECONNRESET || errno == EPIPE) {
      return absl::OutOfRangeError("the other side has closed the connection");
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      ST_RETURN_IF_ERROR(waitFor(socket, events, deadline));
    } else if (errno != EINTR) {
      return systemError();
    }
  }
  return absl::OkStatus();
}

} // namespace

Socket &Socket::operator=(Socket &&other) noexcept {
  if (this != &other) {
    close();
    number = other.number;
    other.number = -1;
  }
  return *this;
}

void Socket::close() {
  if (number >= 0) {
    const int error = errno; // of the failed call above
    ::close(number);
    errno = error;
  }
  number = -1;
}

std::string Endpoint::text() const {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

bool isLoopback(const std::string &host) { return host == "::1" || absl::StartsWith(host, "127."); }

Endpoint ownEnd(const Socket &socket) { return endOf(socket, ::getsockname); }
Endpoint otherEnd(const Socket &socket) { return endOf(socket, ::getpeername); }

absl::StatusOr<Socket> listenAt(const std::string &host, int port) {
  Socket socket;
  if (!host.empty()) {
    ST_ASSIGN_OR_RETURN(const Addresses addresses, findAddresses({host, port}));
    for (const addrinfo *at = addresses.get(); at && !socket.isOpen(); at = at->ai_next)
      socket = tryToListen(at->ai_addr, at->ai_addrlen);
  } else {
    const auto number = htons(static_cast<uint16_t>(port));
    sockaddr_in6 ip6 = {};
    ip6.sin6_family = AF_INET6;
    ip6.sin6_port = number;
    socket = tryToListen(reinterpret_cast<const sockaddr *>(&ip6), sizeof ip6);
    sockaddr_in ip4 = {};
    ip4.sin_family = AF_INET;
    ip4.sin_port = number;
    // Some machines have only IPv4.
    if (!socket.isOpen() && errno != EADDRINUSE)
      socket = tryToListen(reinterpret_cast<const sockaddr *>(&ip4), sizeof ip4);
  }
  if (!socket.isOpen())
    return systemError();
  return socket;
}

absl::StatusOr<Socket> acceptFrom(const Socket &listener) {
  Socket socket(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const bool isFull = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  if (!socket.isOpen() && isFull)
    return systemError();
  return socket;
}

absl::StatusOr<Socket> connectTo(const Endpoint &to, Clock::time_point deadline) {
  ST_ASSIGN_OR_RETURN(const Addresses addresses, findAddresses(to));
  absl::Status status = absl::UnavailableError("no address");
  for (const addrinfo *at = addresses.get(); at; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.isOpen()) {
      status = systemError();
      continue;
    }
    if (::connect(socket.descriptor(), at->ai_addr, at->ai_addrlen) != 0 && errno != EINPROGRESS) {
      status = systemError();
      continue;
    }
    // The limit leaves time for the next address if this one does not respond.
    status = waitFor(socket, POLLOUT, std::min(deadline, Clock::now() + std::chrono::seconds(5)));
    int error = 0;
    socklen_t length = sizeof error;
    if (status.ok() &&
        ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error != 0)
      status = absl::UnavailableError(std::strerror(error));
    // If nobody listens, a TCP connection may connect to itself.
    if (status.ok() && ownEnd(socket).text() == otherEnd(socket).text())
      status = absl::UnavailableError(std::strerror(ECONNREFUSED));
    if (status.ok())
      return socket;
  }
  return status;
}

void setUpConnection(const Socket &socket, double seconds) {
  const int quarter = static_cast<int>(std::clamp(seconds / 4, 1.0, 3600.0));
  setOption(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(socket.descriptor(), SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(socket.descriptor(), IPPROTO_TCP, TCP_KEEPIDLE, quarter);
  setOption(socket.descriptor(), IPPROTO_TCP, TCP_KEEPINTVL, quarter);
  setOption(socket.descriptor(), IPPROTO_TCP, TCP_KEEPCNT, 3);
}

absl::Status sendAll(const Socket &socket, absl::Span<const uint8_t> bytes,
                     Clock::time_point deadline) {
  return moveAll(socket, bytes.size(), POLLOUT, deadline, [&](size_t done) {
    return ::send(socket.descriptor(), bytes.data() + done, bytes.size() - done,
                  MSG_DONTWAIT | MSG_NOSIGNAL);
  });
}

absl::Status receiveAll(const Socket &socket, absl::Span<uint8_t> bytes,
                        Clock::time_point deadline) {
  return moveAll(socket, bytes.size(), POLLIN, deadline, [&](size_t done) {
    return ::recv(socket.descriptor(), bytes.data() + done, bytes.size() - done, MSG_DONTWAIT);
  });
}

} // namespace st
