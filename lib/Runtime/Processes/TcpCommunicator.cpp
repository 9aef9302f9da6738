#include "lib/Runtime/Processes/BufferPool.h"
#include "lib/Runtime/Processes/Deadline.h"
#include "lib/Runtime/Processes/ProcessGroup.h"
#include "lib/Runtime/Processes/TcpJoin.h"

#include "lib/Support/ProcessEnd.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace st {
namespace {

// After the message channels.
constexpr int kCollectives = kAgreementChannel + 1;
constexpr int kGoodbye = kAgreementChannel + 2; ///< the last message of all

/// The wire format: a header followed by the bytes.
struct Message {
  struct Header {
    uint64_t size = 0;
    int64_t channel = 0;
  };

  Message() = default;
  Message(int channel, absl::Span<const uint8_t> from) {
    header = {from.size(), channel};
    allocate();
    if (!from.empty())
      std::memcpy(bytes.get(), from.data(), from.size());
  }

  void allocate() { bytes = BufferPool::get().take(header.size); }
  bool isDone() const { return done >= sizeof header && done == sizeof header + header.size; }

  /// The part that has not been transferred yet. Without an allocation, only the header.
  std::array<iovec, 2> rest() {
    const size_t ofHeader = std::min(done, sizeof header), ofBytes = done - ofHeader;
    return {iovec{reinterpret_cast<uint8_t *>(&header) + ofHeader, sizeof header - ofHeader},
            iovec{bytes ? bytes.get() + ofBytes : nullptr, bytes ? header.size - ofBytes : 0}};
  }

  Header header;
  BufferPool::Buffer bytes;
  size_t done = 0; ///< of header and bytes
};

/// One thread moves all bytes, so no thread that sends or computes waits for another process.
class TcpCommunicator : public ProcessGroup {
public:
  explicit TcpCommunicator(const GroupOptions &options) : ProcessGroup(options) {}
  ~TcpCommunicator() override;

  absl::Status start(const TcpOptions &options);

  absl::Status broadcast(absl::Span<uint8_t> bytes, int64_t root) override;
  absl::Status barrier() override;
  absl::Status send(absl::Span<const uint8_t> bytes, const Peer &to) override;
  absl::Status receive(absl::Span<uint8_t> bytes, const Peer &from) override;

private:
  struct Connection {
    Socket socket;
    Message coming;
    Message going;
    bool isBusy = false; ///< a message is being sent
    // Shared by all threads, guarded by the mutex:
    std::deque<Message> queue;
    bool isSent = true;    ///< the queue is empty and no send is in progress
    bool hasLeft = false;  ///< its last message has arrived
    bool isComing = false; ///< a message has partly arrived
    Clock::time_point heard;
  };

  /// Messages of a channel that have not been received yet.
  struct Inbox {
    std::deque<Message> messages;
    absl::CondVar changed;
  };

  /// Queues a message to a process that has not left.
  void post(int64_t process, Message message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  absl::StatusOr<Message> take(int64_t process, int channel, const std::string &what);
  absl::Status receiveFrom(absl::Span<uint8_t> bytes, const Peer &from);
  bool allPeersLeft() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void wake();

  // Runs on the thread that moves bytes.
  void moveBytes();
  void readFrom(int64_t process);
  void writeTo(int64_t process);
  void deliver(int64_t process, Message message);
  void onClosed(int64_t process, int error);

  std::vector<Connection> connections; ///< by process; the one of this process is not open
  std::thread mover;
  int wakeUp = -1; ///< wakes the moving thread
  absl::Mutex mutex;
  absl::CondVar left; ///< a process has left, or everything is sent
  std::map<std::pair<int64_t, int>, Inbox> inboxes ABSL_GUARDED_BY(mutex);
  bool failed ABSL_GUARDED_BY(mutex) = false; ///< a process that gave up on others does not say
                                              ///< goodbye
  bool isEnding ABSL_GUARDED_BY(mutex) = false;
};

absl::Status TcpCommunicator::start(const TcpOptions &options) {
  ST_ASSIGN_OR_RETURN(std::vector<Socket> sockets, joinByTcp(options));
  connections = std::vector<Connection>(sockets.size());
  for (size_t i = 0; i < sockets.size(); ++i)
    connections[i].socket = std::move(sockets[i]);
  setSelf({options.process, options.processes});
  wakeUp = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wakeUp < 0)
    return absl::UnavailableError(absl::StrCat("no event: ", std::strerror(errno)));
  mover = std::thread([this] { moveBytes(); });
  return absl::OkStatus();
}

TcpCommunicator::~TcpCommunicator() {
  if (mover.joinable()) {
    const Clock::time_point end = deadlineAfter(options.watchdogSeconds);
    absl::MutexLock lock(&mutex);
    const bool sendsGoodbye = !failed;
    for (int64_t i = 0; sendsGoodbye && i < self.processes; ++i)
      if (i != self.process)
        post(i, Message(kGoodbye, {}));
    // A process that ends before all have sent their last message would be considered lost. A
    // process that continues for longer than this has already received the last message of this
    // one.
    while (sendsGoodbye && !allPeersLeft() && Clock::now() < end)
      left.WaitWithTimeout(&mutex, absl::FromChrono(end - Clock::now()));
    isEnding = true;
    wake();
  }
  if (mover.joinable())
    mover.join();
  if (wakeUp >= 0)
    ::close(wakeUp);
}

bool TcpCommunicator::allPeersLeft() const {
  for (const Connection &connection : connections)
    if (&connection != &connections[static_cast<size_t>(self.process)] &&
        !(connection.hasLeft && connection.isSent))
      return false;
  return true;
}

void TcpCommunicator::wake() {
  const uint64_t one = 1;
  (void)!::write(wakeUp, &one, sizeof one);
}

void TcpCommunicator::post(int64_t process, Message message) {
  Connection &connection = connections[static_cast<size_t>(process)];
  if (!connection.socket.isOpen())
    return;
  connection.queue.push_back(std::move(message));
  // Otherwise the moving thread checks the queue after the current message.
  if (connection.isSent)
    wake();
  connection.isSent = false;
}

absl::StatusOr<Message> TcpCommunicator::take(int64_t process, int channel,
                                              const std::string &what) {
  absl::MutexLock lock(&mutex);
  const Connection &connection = connections[static_cast<size_t>(process)];
  Inbox &inbox = inboxes[{process, channel}];
  if (inbox.messages.empty()) {
    NotedOnEarlyEnd noted(absl::StrCat(self.name(), " was waiting, ", what));
    const Clock::time_point begin = Clock::now();
    const Clock::duration patience = deadlineAfter(options.watchdogSeconds) - begin;
    while (inbox.messages.empty()) {
      // A long message takes time, and delays the next one.
      const Clock::time_point end =
          (connection.isComing ? std::max(begin, connection.heard) : begin) + patience;
      const Clock::time_point now = Clock::now();
      if (connection.hasLeft || now >= end)
        failed = true;
      if (connection.hasLeft)
        return absl::UnavailableError(
            absl::StrCat(self.name(), ", ", what, ": it ended without sending this message"));
      if (now >= end)
        return self.silent(what, options.watchdogSeconds);
      inbox.changed.WaitWithTimeout(&mutex, absl::FromChrono(end - now));
    }
  }
  Message message = std::move(inbox.messages.front());
  inbox.messages.pop_front();
  return message;
}

absl::Status TcpCommunicator::receiveFrom(absl::Span<uint8_t> bytes, const Peer &from) {
  const std::string what = receiving(from);
  ST_ASSIGN_OR_RETURN(const Message message, take(from.process, from.channel, what));
  if (message.header.size != bytes.size()) {
    absl::MutexLock lock(&mutex);
    failed = true;
    return absl::InternalError(
        absl::StrCat(what, ": received ", message.header.size, " bytes, expected ", bytes.size()));
  }
  if (!bytes.empty())
    std::memcpy(bytes.data(), message.bytes.get(), bytes.size());
  return absl::OkStatus();
}

absl::Status TcpCommunicator::send(absl::Span<const uint8_t> bytes, const Peer &to) {
  ST_RETURN_IF_ERROR(checkPeer(to));
  Message message(to.channel, bytes);
  absl::MutexLock lock(&mutex);
  if (connections[static_cast<size_t>(to.process)].hasLeft) {
    failed = true;
    return absl::UnavailableError(absl::StrCat(self.name(), ", ", to.what, ", sending to process ",
                                               to.process, ": it has ended"));
  }
  post(to.process, std::move(message));
  return absl::OkStatus();
}

absl::Status TcpCommunicator::receive(absl::Span<uint8_t> bytes, const Peer &from) {
  ST_RETURN_IF_ERROR(checkPeer(from));
  return receiveFrom(bytes, from);
}

absl::Status TcpCommunicator::broadcast(absl::Span<uint8_t> bytes, int64_t root) {
  const std::string what = absl::StrCat("broadcast of process ", root);
  const int64_t count = self.processes, place = (self.process - root + count) % count;
  // The number of processes with the bytes doubles in each round.
  for (int64_t having = 1; having < count; having *= 2) {
    if (place < having && place + having < count) {
      Message message(kCollectives, bytes);
      absl::MutexLock lock(&mutex);
      post((self.process + having) % count, std::move(message));
    } else if (place >= having && place < 2 * having) {
      ST_RETURN_IF_ERROR(
          receiveFrom(bytes, {(self.process - having + count) % count, kCollectives, what}));
    }
  }
  return absl::OkStatus();
}

absl::Status TcpCommunicator::barrier() {
  const int64_t count = self.processes;
  // After each round, a process knows of twice as many arrivals (dissemination barrier).
  for (int64_t known = 1; known < count; known *= 2) {
    {
      absl::MutexLock lock(&mutex);
      post((self.process + known) % count, Message(kCollectives, {}));
    }
    ST_RETURN_IF_ERROR(receiveFrom(
        {}, {(self.process - known + count) % count, kCollectives, "barrier of all processes"}));
  }
  return absl::OkStatus();
}

void TcpCommunicator::moveBytes() {
  std::vector<pollfd> polled(connections.size() + 1);
  while (true) {
    {
      absl::MutexLock lock(&mutex);
      if (isEnding)
        return;
      for (Connection &connection : connections)
        if (!connection.isBusy && !connection.queue.empty()) {
          connection.going = std::move(connection.queue.front());
          connection.queue.pop_front();
          connection.isBusy = true;
        }
    }
    for (size_t i = 0; i < connections.size(); ++i) // closed connections are not polled
      polled[i] = {connections[i].socket.descriptor(),
                   static_cast<short>(connections[i].isBusy ? POLLIN | POLLOUT : POLLIN), 0};
    polled.back() = {wakeUp, POLLIN, 0};
    if (::poll(polled.data(), polled.size(), -1) < 0)
      continue;
    uint64_t times = 0;
    if (polled.back().revents != 0)
      (void)!::read(wakeUp, &times, sizeof times);
    for (size_t i = 0; i < connections.size(); ++i) {
      // Data that arrived before a connection ended is read before the end is noticed.
      if ((polled[i].revents & ~POLLOUT) != 0)
        readFrom(static_cast<int64_t>(i));
      if ((polled[i].revents & POLLOUT) != 0 && connections[i].socket.isOpen())
        writeTo(static_cast<int64_t>(i));
    }
  }
}

void TcpCommunicator::readFrom(int64_t process) {
  Connection &connection = connections[static_cast<size_t>(process)];
  // Limits the reads from one connection, so that the others are served too.
  constexpr int kMaxReads = 64;
  for (int i = 0; i < kMaxReads; ++i) {
    Message &message = connection.coming;
    std::array<iovec, 2> rest = message.rest();
    const ssize_t came =
        ::readv(connection.socket.descriptor(), rest.data(), static_cast<int>(rest.size()));
    if (came < 0 && errno == EINTR)
      continue;
    if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    if (came <= 0)
      return onClosed(process, came < 0 ? errno : 0);
    message.done += static_cast<size_t>(came);
    if (!message.bytes && message.done == sizeof(Message::Header))
      message.allocate();
    if (message.isDone())
      deliver(process, std::exchange(message, Message()));
  }
  absl::MutexLock lock(&mutex);
  connection.isComing = connection.coming.done > 0;
  connection.heard = Clock::now();
}

void TcpCommunicator::deliver(int64_t process, Message message) {
  absl::MutexLock lock(&mutex);
  const auto channel = static_cast<int>(message.header.channel);
  if (channel != kGoodbye) {
    Inbox &inbox = inboxes[{process, channel}];
    inbox.messages.push_back(std::move(message));
    inbox.changed.SignalAll();
    return;
  }
  connections[static_cast<size_t>(process)].hasLeft = true;
  for (auto &[from, inbox] : inboxes)
    if (from.first == process)
      inbox.changed.SignalAll();
  left.SignalAll();
}

void TcpCommunicator::writeTo(int64_t process) {
  Connection &connection = connections[static_cast<size_t>(process)];
  while (connection.isBusy) {
    std::array<iovec, 2> rest = connection.going.rest();
    msghdr parts = {};
    parts.msg_iov = rest.data();
    parts.msg_iovlen = rest.size();
    const ssize_t gone =
        ::sendmsg(connection.socket.descriptor(), &parts, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (gone < 0 && errno == EINTR)
      continue;
    if (gone < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (gone < 0 && errno != EPIPE && errno != ECONNRESET)
      return onClosed(process, errno);
    // The peer may have sent its last message before.
    while (gone < 0 && connection.socket.isOpen())
      readFrom(process);
    if (gone < 0)
      return;
    connection.going.done += static_cast<size_t>(gone);
    if (!connection.going.isDone())
      continue;
    absl::MutexLock lock(&mutex);
    connection.isBusy = !connection.queue.empty();
    if (connection.isBusy) {
      connection.going = std::move(connection.queue.front());
      connection.queue.pop_front();
    } else {
      connection.going = Message();
      connection.isSent = true;
      left.SignalAll();
    }
  }
}

void TcpCommunicator::onClosed(int64_t process, int error) {
  Connection &connection = connections[static_cast<size_t>(process)];
  absl::MutexLock lock(&mutex);
  if (!connection.hasLeft && !isEnding) {
    const bool hasEnded = error == 0 || error == ECONNRESET || error == EPIPE;
    endEarly(hasEnded ? self.lost(process).c_str()
                      : absl::StrCat(self.name(), ": the connection to process ", process,
                                     " is lost: ", std::strerror(error))
                            .c_str());
  }
  // The peer no longer needs unsent messages.
  connection.socket.close();
  connection.queue.clear();
  connection.isBusy = false;
  connection.isSent = true;
  left.SignalAll();
}

} // namespace

absl::StatusOr<std::unique_ptr<Communicator>> createTcpCommunicator(const TcpOptions &options) {
  auto communicator = std::make_unique<TcpCommunicator>(options.group);
  ST_RETURN_IF_ERROR(communicator->start(options));
  return communicator;
}

} // namespace st
