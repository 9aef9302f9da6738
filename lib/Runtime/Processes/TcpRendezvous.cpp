#include "lib/Runtime/Processes/TcpRendezvous.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

namespace st {
namespace {

constexpr char kMagic[sizeof(Handshake::magic)] = {'S', 't', ' ', 'g', 'r', 'o', 'u', 'p'};

} // namespace

Handshake Handshake::own() {
  Handshake own = {{}, kJoinVersion};
  std::memcpy(own.magic, kMagic, sizeof kMagic);
  return own;
}

bool Handshake::isOfTrainingBinary() const {
  return std::memcmp(magic, kMagic, sizeof kMagic) == 0;
}

std::string Rendezvous::describeUnexpectedPeers() const {
  return numStrangers == 0
             ? ""
             : absl::StrCat("; ", numStrangers, numStrangers == 1 ? " connection" : " connections",
                            " from other programs arrived, the last from ", lastStranger);
}

Rendezvous::Step Rendezvous::read(JoiningPeer &peer) {
  const absl::Span<uint8_t> bytes = bytesOf(peer.hello);
  const ssize_t came = ::recv(peer.socket.descriptor(), bytes.data() + peer.done,
                              bytes.size() - peer.done, MSG_DONTWAIT);
  if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    return Step::kMore;
  if (came <= 0)
    return Step::kStranger;
  peer.done += static_cast<size_t>(came);
  if (std::memcmp(bytes.data(), kMagic, std::min(peer.done, sizeof kMagic)) != 0)
    return Step::kStranger;
  // The rest of another version's message is unknown.
  const bool isOther =
      peer.done >= sizeof(Handshake) && peer.hello.handshake.version != kJoinVersion;
  return isOther || peer.done == bytes.size() ? Step::kDone : Step::kMore;
}

absl::Status Rendezvous::accept() {
  JoiningPeer peer = {};
  ST_ASSIGN_OR_RETURN(peer.socket, acceptFrom(listener));
  if (!peer.socket.isOpen())
    return absl::OkStatus();
  setUpConnection(peer.socket, seconds);
  waiting.push_back(std::move(peer));
  return absl::OkStatus();
}

absl::StatusOr<JoiningPeer> Rendezvous::next(absl::Span<const Socket> joined, int64_t &lost) {
  // Traffic from other programs must not extend the deadline.
  while (Clock::now() < deadline) {
    std::vector<pollfd> polled = {{listener.descriptor(), POLLIN, 0}};
    for (const Socket &socket : joined) // closed connections are not polled
      polled.push_back({socket.descriptor(), POLLRDHUP, 0});
    for (const JoiningPeer &peer : waiting)
      polled.push_back({peer.socket.descriptor(), POLLIN, 0});
    const int ready = ::poll(polled.data(), polled.size(), millisecondsUntil(deadline));
    if (ready < 0 && errno != EINTR)
      return absl::UnavailableError(std::strerror(errno));
    if (ready <= 0)
      continue;
    for (size_t i = 0; i < joined.size(); ++i)
      if (polled[1 + i].revents != 0) {
        lost = static_cast<int64_t>(i);
        return absl::OutOfRangeError("lost");
      }
    size_t at = 1 + joined.size();
    for (auto it = waiting.begin(); it != waiting.end(); ++at) {
      const Step step = polled[at].revents != 0 ? read(*it) : Step::kMore;
      if (step == Step::kDone) {
        JoiningPeer peer = std::move(*it);
        waiting.erase(it);
        return peer;
      }
      if (step == Step::kStranger) {
        ++numStrangers;
        lastStranger = otherEnd(it->socket).text();
      }
      it = step == Step::kStranger ? waiting.erase(it) : std::next(it);
    }
    if (polled[0].revents != 0)
      ST_RETURN_IF_ERROR(accept());
  }
  return absl::DeadlineExceededError("no other process connected");
}

} // namespace st
