// Replacement of libnccl.so.2: see Streams.h. Ranks of a communicator are threads of one or several
// processes on this machine; each message is a connection to the receiver. As with NCCL, sent data
// leaves when the receiver takes it, operations of a group run together, ranks of a communicator
// need separate GPUs, and only ncclCommGetAsyncError reports a lost rank. A group enters its stream
// some time after the call; for the first message between two ranks, not before both have requested
// it. Until then the communicator is in progress and accepts no other calls.
// ST_STANDIN_NCCL_VERSION is the reported version.
#include "test/standins/Faults.h"
#include "test/standins/Streams.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <poll.h>
#include <random>
#include <set>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// Numbers of nccl.h.
enum Result {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};
constexpr unsigned kMagic = 0xcafebeef;
constexpr int kTypeBytes = 0; // ncclInt8

struct UniqueId {
  char text[128];
};

/// Header of a connection: the sender, and the number of its earlier messages on this communicator.
struct Header {
  int from, gpu;
  int64_t number;
};
// Instead of a number: for the first connection of each peer, and for the setup of a connection.
constexpr int64_t kHello = -1, kFirst = -2;

bool transfer(int socket, uint8_t *bytes, size_t count, bool writes,
              const std::atomic<bool> &aborted) {
  while (count > 0) {
    pollfd polled{socket, static_cast<short>(writes ? POLLOUT : POLLIN), 0};
    if (::poll(&polled, 1, 20) == 0) {
      if (aborted)
        return false;
      continue;
    }
    const ssize_t done = writes ? ::send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT)
                                : ::recv(socket, bytes, count, MSG_DONTWAIT);
    if (done < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (done <= 0)
      return false;
    bytes += done;
    count -= static_cast<size_t>(done);
  }
  return true;
}

class Communicator {
public:
  Communicator(const UniqueId &id, int ranks, int rank, int gpu)
      : id(id), ranks(ranks), rank(rank), gpu(gpu), sent(ranks), received(ranks) {
    listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto [address, length] = addressOf(rank);
    if (::bind(listener, reinterpret_cast<const sockaddr *>(&address), length) != 0 ||
        ::listen(listener, 256) != 0)
      failure = kInvalidUsage;
    acceptor = std::thread([this] { accept(); });
    starter = std::thread([this] { start(); });
  }

  ~Communicator() {
    aborted = true;
    starter.join();
    acceptor.join();
    ::close(listener);
    for (auto &[header, socket] : arrived)
      ::close(socket);
  }

  std::atomic<int> failure{kInProgress}; ///< or whether it is in progress
  std::atomic<bool> aborted{false};

  int count() const { return ranks; }

  struct Piece {
    int peer;
    uint8_t *bytes;
    size_t count;
    bool isSent;
    int64_t number;
  };

  /// Sets up the connections that the pieces need, with an empty first message on each.
  bool connect(const std::vector<Piece> &pieces) {
    std::vector<Piece> first;
    for (const Piece &piece : pieces)
      if ((piece.isSent ? reached : heard).insert(piece.peer).second)
        first.push_back({piece.peer, nullptr, 0, piece.isSent, kFirst});
    return transferAll(first);
  }

  Piece plan(int peer, uint8_t *bytes, size_t count, bool isSent) {
    return {peer, bytes, count, isSent, (isSent ? sent : received)[static_cast<size_t>(peer)]++};
  }

  int run(const std::vector<Piece> &pieces) {
    if (!transferAll(pieces) && failure == kSuccess)
      failure = kRemoteError;
    // A GPU continues with its data; only a query reports the error.
    return 0;
  }

private:
  bool transferAll(const std::vector<Piece> &pieces) {
    std::atomic<bool> isWell{true};
    std::vector<std::thread> threads;
    for (const Piece &piece : pieces)
      threads.emplace_back([&, piece] {
        if (!(piece.isSent ? sendPiece(piece) : receivePiece(piece)))
          isWell = false;
      });
    for (std::thread &thread : threads)
      thread.join();
    return isWell;
  }

  std::pair<sockaddr_un, socklen_t> addressOf(int to) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = std::string(id.text) + "-" + std::to_string(to);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
  }

  int connectTo(int to, const Header &header) {
    while (!aborted) {
      const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const auto [address, length] = addressOf(to);
      Header own = header;
      if (::connect(socket, reinterpret_cast<const sockaddr *>(&address), length) == 0 &&
          transfer(socket, reinterpret_cast<uint8_t *>(&own), sizeof(own), true, aborted))
        return socket;
      ::close(socket);
      if (header.number != kHello) // It was there.
        return -1;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return -1;
  }

  void accept() {
    while (!aborted) {
      pollfd polled{listener, POLLIN, 0};
      if (::poll(&polled, 1, 20) <= 0)
        continue;
      const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      Header header;
      if (!transfer(socket, reinterpret_cast<uint8_t *>(&header), sizeof(header), false, aborted)) {
        ::close(socket);
        continue;
      }
      std::lock_guard<std::mutex> lock(mutex);
      if (header.number == kHello && header.gpu == gpu)
        failure = kInvalidUsage; // As in NCCL: duplicate GPU.
      arrived[{header.from, header.number}] = socket;
      changed.notify_all();
    }
  }

  /// The connection of a message, or -1.
  int await(int from, int64_t number) {
    std::unique_lock<std::mutex> lock(mutex);
    while (!aborted) {
      auto it = arrived.find({from, number});
      if (it != arrived.end()) {
        const int socket = it->second;
        arrived.erase(it);
        return socket;
      }
      auto hello = hellos.find(from);
      if (number != kHello && hello != hellos.end()) {
        pollfd polled{hello->second, POLLIN, 0};
        if (::poll(&polled, 1, 0) > 0)
          return -1; // It has ended.
      }
      changed.wait_for(lock, std::chrono::milliseconds(20));
    }
    return -1;
  }

  /// All ranks have joined once each one knows all others.
  void start() {
    std::vector<int> opened;
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank)
        opened.push_back(connectTo(peer, {rank, gpu, kHello}));
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank) {
        const int socket = await(peer, kHello);
        std::lock_guard<std::mutex> lock(mutex);
        hellos[peer] = socket;
      }
    int expected = kInProgress;
    failure.compare_exchange_strong(expected, kSuccess);
    while (!aborted)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (int socket : opened)
      ::close(socket);
    for (auto &[peer, socket] : hellos)
      ::close(socket);
  }

  bool sendPiece(const Piece &piece) {
    const int socket = connectTo(piece.peer, {rank, gpu, piece.number});
    uint8_t taken = 0;
    uint64_t size = piece.count;
    const bool isWell =
        socket >= 0 && transfer(socket, &taken, 1, false, aborted) &&
        transfer(socket, reinterpret_cast<uint8_t *>(&size), sizeof(size), true, aborted) &&
        transfer(socket, piece.bytes, piece.count, true, aborted);
    ::close(socket);
    return isWell;
  }

  bool receivePiece(const Piece &piece) {
    const int socket = await(piece.peer, piece.number);
    uint8_t taken = 1;
    uint64_t size = 0;
    const bool isWell =
        socket >= 0 && transfer(socket, &taken, 1, true, aborted) &&
        transfer(socket, reinterpret_cast<uint8_t *>(&size), sizeof(size), false, aborted) &&
        size == piece.count && transfer(socket, piece.bytes, piece.count, false, aborted);
    ::close(socket);
    return isWell;
  }

  UniqueId id;
  int ranks, rank, gpu, listener;
  std::vector<int64_t> sent, received; // messages, by peer
  std::set<int> reached, heard;        // peers to and from whom there is a way
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int64_t>, int> arrived;
  std::map<int, int> hellos;
  std::thread acceptor, starter;
};

struct Given {
  std::shared_ptr<Communicator> *communicator;
  Communicator::Piece piece;
  void *stream;
};
thread_local int depth = 0;
thread_local std::vector<Given> group;

int runGroup() {
  std::map<std::pair<std::shared_ptr<Communicator> *, void *>, std::vector<Communicator::Piece>>
      parts;
  for (const Given &given : group)
    parts[{given.communicator, given.stream}].push_back(given.piece);
  group.clear();
  for (auto &[key, pieces] : parts) {
    std::shared_ptr<Communicator> used = *key.first;
    used->failure = kInProgress;
    auto work = [used, stream = key.second, pieces = std::move(pieces),
                 gpu = standin::currentGpu()] {
      standin::enter(gpu);
      static std::atomic<unsigned> turn{0};
      std::this_thread::sleep_for(std::chrono::microseconds(turn++ % 7 * 40));
      int result = used->connect(pieces) ? kSuccess : kRemoteError;
      if (result == kSuccess &&
          standin::enqueue(stream, [used, pieces] { return used->run(pieces); }))
        result = kUnhandledCudaError;
      int expected = kInProgress;
      used->failure.compare_exchange_strong(expected, result);
    };
    std::thread(std::move(work)).detach();
  }
  return kInProgress;
}

int give(const void *bytes, size_t count, int type, int peer, void *communicator, void *stream,
         bool isSent) {
  auto *handle = static_cast<std::shared_ptr<Communicator> *>(communicator);
  Communicator &used = **handle;
  if (type != kTypeBytes || peer < 0 || peer >= used.count() ||
      !standin::isAllocated(reinterpret_cast<uint64_t>(bytes), count))
    return kInvalidArgument;
  if (used.failure != kSuccess)
    return used.failure == kInProgress ? int(kInvalidArgument) : int(used.failure);
  auto *memory = const_cast<uint8_t *>(static_cast<const uint8_t *>(bytes));
  group.push_back({handle, used.plan(peer, memory, count, isSent), stream});
  return depth > 0 ? int(kSuccess) : runGroup();
}

} // namespace

extern "C" {

int ncclGetVersion(int *version) {
  const char *given = std::getenv("ST_STANDIN_NCCL_VERSION");
  *version = given ? std::atoi(given) : 22703;
  return kSuccess;
}

const char *ncclGetErrorString(int result) {
  return result == kRemoteError    ? "remote process exited or there was a network error"
         : result == kInvalidUsage ? "invalid usage"
                                   : "invalid argument";
}

int ncclGetUniqueId(UniqueId *id) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  std::random_device random;
  std::memset(id, 0, sizeof(*id));
  const std::string text = "st-nccl-" + std::to_string(::getpid()) + "-" + std::to_string(random());
  std::memcpy(id->text, text.data(), text.size());
  return kSuccess;
}

struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

int ncclCommInitRankConfig(void **communicator, int ranks, UniqueId id, int rank,
                           const Config *config) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  if (config->magic != kMagic || config->size < sizeof(Config) || config->blocking != 0 ||
      rank < 0 || rank >= ranks)
    return kInvalidArgument;
  if (standin::currentGpu() < 0)
    return kUnhandledCudaError;
  *communicator = new std::shared_ptr<Communicator>(
      std::make_shared<Communicator>(id, ranks, rank, standin::currentGpu()));
  return kInProgress;
}

int ncclCommGetAsyncError(void *communicator, int *error) {
  *error = (*static_cast<std::shared_ptr<Communicator> *>(communicator))->failure;
  return kSuccess;
}

int ncclCommAbort(void *communicator) {
  auto *handle = static_cast<std::shared_ptr<Communicator> *>(communicator);
  (*handle)->aborted = true;
  delete handle;
  return kSuccess;
}

int ncclGroupStart() {
  ++depth;
  return kSuccess;
}
int ncclGroupEnd() {
  if (int planned = standin::findFailure(__func__))
    return planned;
  if (--depth > 0)
    return kSuccess;
  return runGroup();
}

int ncclSend(const void *bytes, size_t count, int type, int peer, void *communicator,
             void *stream) {
  if (int planned = standin::findFailure(__func__))
    return planned;
  return give(bytes, count, type, peer, communicator, stream, true);
}
int ncclRecv(void *bytes, size_t count, int type, int peer, void *communicator, void *stream) {
  return give(bytes, count, type, peer, communicator, stream, false);
}

} // extern "C"
