#include "lib/Runtime/Processes/TcpJoin.h"
#include "lib/Runtime/Processes/ProcessGroup.h"
#include "lib/Runtime/Processes/TcpRendezvous.h"
#include "lib/Runtime/Processes/TorchStore.h"

#include "lib/Support/StatusMacros.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/random.h>
#include <thread>
#include <utility>

namespace st {
namespace {

// Every other process connects to process 0 and sends a hello with the port at which it listens.
// Process 0 acknowledges at once and, when all have arrived, sends the address of each. Of two
// other processes, the one with the higher number connects to the lower.

constexpr size_t kLongestText = 1024;

struct Welcome {
  Handshake handshake;
  uint32_t refusal; ///< if not 0, a text of this length follows instead of the places
  uint8_t key[16];
};

/// The address at which a process listens.
struct Place {
  char host[60]; ///< as process 0 sees it
  uint32_t port;
};

std::string otherVersion(uint32_t found) {
  return absl::StrCat("expected version ", kJoinVersion, " of the rendezvous, found ", found,
                      ": all processes must run the same program");
}

/// Connects one process with all others.
class Join {
public:
  explicit Join(const TcpOptions &options)
      : options(options), self{options.process, options.processes},
        first{options.address, options.port},
        deadline(deadlineAfter(options.group.watchdogSeconds)),
        connections(static_cast<size_t>(options.processes)),
        places(static_cast<size_t>(options.processes)) {}

  absl::StatusOr<std::vector<Socket>> run();

private:
  absl::Status fail(absl::string_view text) const;
  absl::Status silent(absl::string_view whom, const Rendezvous &rendezvous) const;
  double seconds() const { return options.group.watchdogSeconds; }
  absl::StatusOr<Socket> listen(int port) const;

  // Process 0:
  absl::Status gather();
  absl::Status leaveAddress(int port) const;
  absl::Status assignRank(JoiningPeer peer);
  /// Sends all connected processes the reason why no group is formed, and returns it as an error.
  absl::Status refuse(absl::string_view text, const JoiningPeer *peer = nullptr);
  absl::Status sendPlaces();

  // Other processes:
  absl::Status meet();
  absl::Status reachFirst(Hello hello);
  absl::StatusOr<Socket> tryFirst(const Hello &hello);
  absl::Status receivePlaces();
  absl::Status connectToEarlier();
  absl::Status awaitLater(Rendezvous &rendezvous);

  const TcpOptions &options;
  Member self;
  Endpoint first; ///< the address of process 0
  Clock::time_point deadline;
  std::vector<Socket> connections;
  std::vector<Place> places;
  uint8_t key[16] = {};
};

absl::Status Join::fail(absl::string_view text) const {
  return absl::UnavailableError(absl::StrCat(self.name(), ": ", text));
}

absl::Status Join::silent(absl::string_view whom, const Rendezvous &rendezvous) const {
  const absl::Status status = self.silent(
      absl::StrCat("joining the others at ", first.text(), ", waiting for ", whom), seconds());
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), rendezvous.describeUnexpectedPeers()));
}

absl::StatusOr<Socket> Join::listen(int port) const {
  // Listening on one machine only suffices if all processes are there. A host name may help other
  // processes more: some launchers call the machine of process 0 "localhost" there and by its name
  // elsewhere.
  const std::string host = isLoopback(options.address) ? options.address : "";
  absl::StatusOr<Socket> socket = listenAt(host, port);
  if (!socket.ok() && port != 0)
    return fail(absl::StrCat("cannot listen at ", first.text(),
                             " (MASTER_ADDR and MASTER_PORT): ", socket.status().message()));
  if (!socket.ok())
    return fail(absl::StrCat("cannot listen: ", socket.status().message()));
  return socket;
}

absl::StatusOr<std::vector<Socket>> Join::run() {
  NotedOnEarlyEnd noted(absl::StrCat(self.name(), " was joining the others at ", first.text()));
  ST_RETURN_IF_ERROR(self.process == 0 ? gather() : meet());
  return std::move(connections);
}

absl::Status Join::gather() {
  ST_ASSIGN_OR_RETURN(Socket listener, listen(options.storeKey.empty() ? options.port : 0));
  if (!options.storeKey.empty())
    ST_RETURN_IF_ERROR(leaveAddress(ownEnd(listener).port));
  if (::getrandom(key, sizeof key, 0) != sizeof key)
    return fail(absl::StrCat("cannot read random bytes: ", std::strerror(errno)));
  Rendezvous rendezvous(std::move(listener), seconds(), deadline);
  auto missing = [&] {
    std::vector<int64_t> numbers;
    for (int64_t i = 1; i < self.processes; ++i)
      if (!connections[static_cast<size_t>(i)].isOpen())
        numbers.push_back(i);
    return numbers;
  };
  while (!missing().empty()) {
    int64_t lost = 0;
    absl::StatusOr<JoiningPeer> peer = rendezvous.next(connections, lost);
    if (peer.ok()) {
      ST_RETURN_IF_ERROR(assignRank(*std::move(peer)));
    } else if (absl::IsOutOfRange(peer.status())) {
      return refuse(absl::StrCat("process ", lost, " has ended early"));
    } else if (absl::IsDeadlineExceeded(peer.status())) {
      const std::string whom = absl::StrCat("process ", absl::StrJoin(missing(), ", "));
      (void)refuse(absl::StrCat("no response from ", whom));
      return silent(whom, rendezvous);
    } else {
      return fail(peer.status().message());
    }
  }
  return sendPlaces();
}

absl::Status Join::leaveAddress(int port) const {
  absl::StatusOr<Socket> store = connectTo(first, deadline);
  absl::Status status = store.status();
  if (status.ok())
    status = setInStore(*store, options.storeKey, absl::StrCat(port, " ", ownEnd(*store).host),
                        deadline);
  return status.ok() ? status
                     : fail(absl::StrCat("cannot use the store of torchrun at ", first.text(), ": ",
                                         status.message()));
}

absl::Status Join::assignRank(JoiningPeer peer) {
  const Hello &hello = peer.hello;
  if (hello.handshake.version != kJoinVersion)
    return refuse(otherVersion(hello.handshake.version), &peer);
  if (hello.processes != self.processes)
    return refuse(absl::StrCat("expected WORLD_SIZE=", self.processes, ", found WORLD_SIZE=",
                               hello.processes, " of process ", hello.process),
                  &peer);
  if (hello.process < 1 || hello.process >= self.processes)
    return refuse(
        absl::StrCat("expected a RANK from 1 to ", self.processes - 1, ", found ", hello.process),
        &peer);
  const auto process = static_cast<size_t>(hello.process);
  if (connections[process].isOpen())
    return refuse(absl::StrCat("two processes have RANK=", hello.process), &peer);
  // If the connection to the peer is already lost, the rendezvous notices it.
  Handshake here = Handshake::own();
  (void)sendAll(peer.socket, bytesOf(here), deadline);
  otherEnd(peer.socket).host.copy(places[process].host, sizeof(Place::host) - 1);
  places[process].port = hello.port;
  connections[process] = std::move(peer.socket);
  return absl::OkStatus();
}

absl::Status Join::refuse(absl::string_view text, const JoiningPeer *peer) {
  Welcome welcome = {Handshake::own(), static_cast<uint32_t>(text.size()), {}};
  std::vector<uint8_t> bytes(bytesOf(welcome).begin(), bytesOf(welcome).end());
  bytes.insert(bytes.end(), text.begin(), text.end());
  // A peer that does not read this has failed as well.
  const Clock::time_point soon = deadlineAfter(1);
  for (const Socket &socket : connections)
    if (socket.isOpen())
      (void)sendAll(socket, bytes, soon);
  Handshake here = Handshake::own();
  if (peer && sendAll(peer->socket, bytesOf(here), soon).ok())
    (void)sendAll(peer->socket, bytes, soon);
  return fail(text);
}

absl::Status Join::sendPlaces() {
  Welcome welcome = {Handshake::own(), 0, {}};
  std::memcpy(welcome.key, key, sizeof key);
  const auto *table = reinterpret_cast<const uint8_t *>(places.data());
  for (int64_t i = 1; i < self.processes; ++i) {
    const Socket &socket = connections[static_cast<size_t>(i)];
    absl::Status status = sendAll(socket, bytesOf(welcome), deadline);
    if (status.ok())
      status = sendAll(socket, absl::MakeSpan(table, places.size() * sizeof(Place)), deadline);
    if (!status.ok())
      return absl::UnavailableError(self.lost(i));
  }
  return absl::OkStatus();
}

absl::Status Join::meet() {
  ST_ASSIGN_OR_RETURN(Socket listener, listen(0));
  Hello hello = {Handshake::own(),
                 static_cast<uint32_t>(ownEnd(listener).port),
                 self.processes,
                 self.process,
                 {}};
  ST_RETURN_IF_ERROR(reachFirst(hello));
  ST_RETURN_IF_ERROR(receivePlaces());
  // All processes have arrived; the rest takes no longer than this.
  deadline = deadlineAfter(seconds());
  ST_RETURN_IF_ERROR(connectToEarlier());
  Rendezvous rendezvous(std::move(listener), seconds(), deadline);
  return awaitLater(rendezvous);
}

absl::Status Join::reachFirst(Hello hello) {
  std::chrono::milliseconds pause(10);
  while (true) {
    absl::StatusOr<Socket> socket = tryFirst(hello);
    if (socket.ok()) {
      setUpConnection(*socket, seconds());
      connections[0] = *std::move(socket);
      return absl::OkStatus();
    }
    if (absl::IsInvalidArgument(socket.status()))
      return fail(socket.status().message());
    if (Clock::now() + pause >= deadline)
      return absl::DeadlineExceededError(
          absl::StrFormat("%s, joining the others at %s: process 0 was not reached in %g s: %s",
                          self.name(), first.text(), seconds(), socket.status().message()));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(500));
  }
}

absl::StatusOr<Socket> Join::tryFirst(const Hello &hello) {
  Endpoint to = first;
  if (!options.storeKey.empty()) {
    // Queried each time, because a failed process 0 may have been restarted.
    ST_ASSIGN_OR_RETURN(Socket store, connectTo(first, deadline));
    ST_ASSIGN_OR_RETURN(std::string text, getFromStore(store, options.storeKey, deadline));
    const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
    if (!absl::SimpleAtoi(parts.first, &to.port))
      return absl::InvalidArgumentError("the store of torchrun holds no address");
    if (!isLoopback(parts.second))
      to.host = parts.second;
  }
  ST_ASSIGN_OR_RETURN(Socket socket, connectTo(to, deadline));
  Hello own = hello;
  ST_RETURN_IF_ERROR(sendAll(socket, bytesOf(own), deadline));
  Handshake found = {};
  const absl::Status status = receiveAll(socket, bytesOf(found), deadline);
  if (absl::IsDeadlineExceeded(status))
    return absl::UnavailableError(absl::StrCat("the listener at ", to.text(), " does not respond"));
  ST_RETURN_IF_ERROR(status);
  if (!found.isOfTrainingBinary())
    return absl::InvalidArgumentError(
        absl::StrCat("the listener at ", to.text(), " is not process 0 of this program"));
  if (found.version != kJoinVersion)
    return absl::InvalidArgumentError(otherVersion(found.version));
  return socket;
}

absl::Status Join::receivePlaces() {
  // Process 0 waits for the last process no longer than this, and then reports that it is missing.
  const double patience = 2 * seconds();
  const Clock::time_point end = deadlineAfter(patience);
  auto receive = [&](absl::Span<uint8_t> bytes) {
    const absl::Status status = receiveAll(connections[0], bytes, end);
    if (absl::IsDeadlineExceeded(status))
      return self.silent("joining the others, receiving from process 0", patience);
    return status.ok() ? status : absl::UnavailableError(self.lost(0));
  };
  Welcome welcome = {};
  ST_RETURN_IF_ERROR(receive(bytesOf(welcome)));
  if (welcome.refusal != 0) {
    std::vector<uint8_t> text(std::min<size_t>(welcome.refusal, kLongestText));
    ST_RETURN_IF_ERROR(receive(absl::MakeSpan(text)));
    return fail(absl::StrCat("process 0 reports: ", std::string(text.begin(), text.end())));
  }
  std::memcpy(key, welcome.key, sizeof key);
  return receive(
      absl::MakeSpan(reinterpret_cast<uint8_t *>(places.data()), places.size() * sizeof(Place)));
}

absl::Status Join::connectToEarlier() {
  for (int64_t i = 1; i < self.process; ++i) {
    const Place &place = places[static_cast<size_t>(i)];
    // A process on process 0's machine has process 0's address.
    Endpoint to = {std::string(place.host, ::strnlen(place.host, sizeof place.host)),
                   static_cast<int>(place.port)};
    if (isLoopback(to.host))
      to.host = otherEnd(connections[0]).host;
    Hello hello = {Handshake::own(), 0, self.processes, self.process, {}};
    std::memcpy(hello.key, key, sizeof key);
    absl::StatusOr<Socket> socket = connectTo(to, deadline);
    absl::Status status = socket.status();
    if (status.ok())
      status = sendAll(*socket, bytesOf(hello), deadline);
    if (!status.ok())
      return fail(
          absl::StrCat("cannot reach process ", i, " at ", to.text(), ": ", status.message()));
    setUpConnection(*socket, seconds());
    connections[static_cast<size_t>(i)] = *std::move(socket);
  }
  return absl::OkStatus();
}

absl::Status Join::awaitLater(Rendezvous &rendezvous) {
  for (int64_t missing = self.processes - 1 - self.process; missing > 0;) {
    int64_t lost = 0;
    absl::StatusOr<JoiningPeer> peer = rendezvous.next(connections, lost);
    if (absl::IsOutOfRange(peer.status()))
      return absl::UnavailableError(self.lost(lost));
    if (absl::IsDeadlineExceeded(peer.status()))
      return silent("later processes", rendezvous);
    if (!peer.ok())
      return fail(peer.status().message());
    const Hello &hello = peer->hello;
    // A process of another program has connected to this port; ignore it.
    if (hello.handshake.version != kJoinVersion || std::memcmp(hello.key, key, sizeof key) != 0 ||
        hello.process <= self.process || hello.process >= self.processes ||
        connections[static_cast<size_t>(hello.process)].isOpen())
      continue;
    connections[static_cast<size_t>(hello.process)] = std::move(peer->socket);
    --missing;
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::vector<Socket>> joinByTcp(const TcpOptions &options) {
  return Join(options).run();
}

} // namespace st
