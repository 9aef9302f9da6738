#include "lib/Runtime/Processes/TcpLobby.h"

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

constexpr char kMagic[sizeof(Greeting::magic)] = {'S', 't', ' ', 'g', 'r', 'o', 'u', 'p'};

} // namespace

Greeting Greeting::own() {
  Greeting own = {{}, kJoinVersion};
  std::memcpy(own.magic, kMagic, sizeof kMagic);
  return own;
}

bool Greeting::isOurs() const { return std::memcmp(magic, kMagic, sizeof kMagic) == 0; }

std::string Lobby::strangers() const {
  return numStrangers == 0
             ? ""
             : absl::StrCat("; ", numStrangers, numStrangers == 1 ? " connection" : " connections",
                            " of others came, the last from ", lastStranger);
}

Lobby::Step Lobby::read(Guest &guest) {
  const absl::Span<uint8_t> bytes = bytesOf(guest.hello);
  const ssize_t came = ::recv(guest.socket.descriptor(), bytes.data() + guest.done,
                              bytes.size() - guest.done, MSG_DONTWAIT);
  if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
    return Step::kMore;
  if (came <= 0)
    return Step::kStranger;
  guest.done += static_cast<size_t>(came);
  if (std::memcmp(bytes.data(), kMagic, std::min(guest.done, sizeof kMagic)) != 0)
    return Step::kStranger;
  // What another version says next is not known.
  const bool isOther =
      guest.done >= sizeof(Greeting) && guest.hello.greeting.version != kJoinVersion;
  return isOther || guest.done == bytes.size() ? Step::kDone : Step::kMore;
}

absl::Status Lobby::accept() {
  Guest guest = {};
  ST_ASSIGN_OR_RETURN(guest.socket, acceptFrom(listener));
  if (!guest.socket.isOpen())
    return absl::OkStatus();
  setUpConnection(guest.socket, seconds);
  waiting.push_back(std::move(guest));
  return absl::OkStatus();
}

absl::StatusOr<Guest> Lobby::next(absl::Span<const Socket> joined, int64_t &lost) {
  // However much strangers say, time runs.
  while (Clock::now() < deadline) {
    std::vector<pollfd> polled = {{listener.descriptor(), POLLIN, 0}};
    for (const Socket &socket : joined) // what is not open is not polled
      polled.push_back({socket.descriptor(), POLLRDHUP, 0});
    for (const Guest &guest : waiting)
      polled.push_back({guest.socket.descriptor(), POLLIN, 0});
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
        Guest guest = std::move(*it);
        waiting.erase(it);
        return guest;
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
  return absl::DeadlineExceededError("nobody else came");
}

} // namespace st
