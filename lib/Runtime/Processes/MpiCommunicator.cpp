#include "lib/Runtime/Processes/Deadline.h"
#include "lib/Runtime/Processes/MpiLibrary.h"
#include "lib/Runtime/Processes/ProcessGroup.h"

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "lib/Support/ProcessEnd.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace st {
namespace {

/// MPI counts are 32-bit.
constexpr size_t kLargestPiece = size_t(1) << 30;

class MpiCommunicator : public ProcessGroup {
public:
  MpiCommunicator(MpiLibrary mpi, const GroupOptions &options) : ProcessGroup(options), mpi(mpi) {}
  ~MpiCommunicator() override;

  absl::Status start();

  absl::Status broadcast(absl::Span<uint8_t> bytes, int64_t root) override;
  absl::Status barrier() override;
  absl::Status send(absl::Span<const uint8_t> bytes, const Peer &to) override;
  absl::Status receive(absl::Span<uint8_t> bytes, const Peer &from) override;

private:
  /// Identifies a process to others on its machine.
  struct Identity {
    char machine[40]; ///< boot id of the machine
    char space[40];   ///< namespace of its process number
    int64_t number;
  };

  /// A message in transit, with its bytes.
  struct Sent {
    std::vector<uint8_t> bytes;
    MpiLibrary::Handle request;
  };

  absl::Status watchOthers();
  /// Ends this process when another process on its machine has ended.
  void watch(const std::vector<std::pair<int, int>> &others);
  absl::Status check(int code, const std::string &what);
  /// Waits until the request completes or the watchdog's time is over.
  absl::Status wait(MpiLibrary::Handle request, MpiLibrary::Status &status,
                    const std::string &what);
  /// Releases messages that have been sent.
  absl::Status sweep();
  bool allSent() {
    absl::MutexLock lock(&mutex);
    return sent.empty();
  }

  MpiLibrary mpi;
  bool failed = false; ///< a process that gave up on others cannot finalise MPI with them
  absl::Mutex mutex;
  std::list<Sent> sent;
  std::vector<int> descriptors;
  std::thread watcher;
  int stop = -1; ///< an event for the watcher
};

std::string readStart(const char *path, size_t maximum) {
  std::string text(maximum, '\0');
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? 0 : ::read(file, text.data(), maximum);
  if (file >= 0)
    ::close(file);
  text.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return text;
}

absl::Status MpiCommunicator::check(int code, const std::string &what) {
  if (code == MpiLibrary::kSuccess)
    return absl::OkStatus();
  absl::MutexLock lock(&mutex);
  failed = true;
  char text[1024] = "";
  int length = 0;
  mpi.errorText(code, text, &length);
  return absl::UnavailableError(absl::StrCat(self.name(), ", ", what, ": MPI reports \"",
                                             absl::string_view(text, static_cast<size_t>(length)),
                                             "\""));
}

absl::Status MpiCommunicator::start() {
  // Reading the memory of a process that has just died would end this one without an error.
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", /*overwrite=*/0);
  int provided = 0, process = 0, processes = 1;
  ST_RETURN_IF_ERROR(check(mpi.initThread(nullptr, nullptr, MpiLibrary::kThreadMultiple, &provided),
                           "MPI_Init_thread"));
  ST_RETURN_IF_ERROR(check(mpi.setErrorHandler(mpi.world, mpi.errorsReturn), "error handler"));
  ST_RETURN_IF_ERROR(check(mpi.rank(mpi.world, &process), "MPI_Comm_rank"));
  ST_RETURN_IF_ERROR(check(mpi.size(mpi.world, &processes), "MPI_Comm_size"));
  if (provided < MpiLibrary::kThreadMultiple)
    return absl::FailedPreconditionError(
        "this Open MPI was built without MPI_THREAD_MULTIPLE, which is needed");
  setSelf({process, processes});
  return watchOthers();
}

absl::Status MpiCommunicator::watchOthers() {
  std::vector<Identity> all(static_cast<size_t>(self.processes));
  Identity &own = all[static_cast<size_t>(self.process)];
  readStart("/proc/sys/kernel/random/boot_id", sizeof own.machine - 1)
      .copy(own.machine, sizeof own.machine - 1);
  (void)!::readlink("/proc/self/ns/pid", own.space, sizeof own.space - 1);
  own.number = ::getpid();
  for (int i = 0; i < self.processes; ++i) {
    auto *bytes = reinterpret_cast<uint8_t *>(&all[static_cast<size_t>(i)]);
    ST_RETURN_IF_ERROR(broadcast(absl::MakeSpan(bytes, sizeof(Identity)), i));
  }
  std::vector<std::pair<int, int>> others; // descriptor and process
  for (int i = 0; i < self.processes; ++i) {
    const Identity &other = all[static_cast<size_t>(i)];
    // Without /proc, processes on one machine cannot be identified.
    if (i == self.process || !*own.machine || !*own.space ||
        std::strcmp(other.machine, own.machine) != 0 || std::strcmp(other.space, own.space) != 0)
      continue;
    // Without pidfd support in the kernel, only the watchdog notices.
    const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, other.number, 0));
    if (descriptor >= 0) {
      others.push_back({descriptor, i});
      descriptors.push_back(descriptor);
    }
  }
  stop = ::eventfd(0, EFD_CLOEXEC);
  descriptors.push_back(stop);
  watcher = std::thread([this, others] { watch(others); });
  return absl::OkStatus();
}

void MpiCommunicator::watch(const std::vector<std::pair<int, int>> &others) {
  std::vector<pollfd> polled = {{stop, POLLIN, 0}};
  for (const std::pair<int, int> &other : others)
    polled.push_back({other.first, POLLIN, 0});
  while (::poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  if (polled[0].revents != 0)
    return;
  for (size_t i = 0; i < others.size(); ++i)
    if (polled[i + 1].revents != 0)
      endEarly(self.lost(others[i].second).c_str());
}

MpiCommunicator::~MpiCommunicator() {
  // Messages that others wait for are sent first.
  const Clock::time_point end = deadlineAfter(options.watchdogSeconds);
  while (!failed && !allSent() && Clock::now() < end && sweep().ok())
    std::this_thread::yield();
  // From here on, other processes may end.
  if (!failed && allSent())
    failed = !barrier().ok();
  if (watcher.joinable()) {
    const uint64_t one = 1;
    (void)!::write(stop, &one, sizeof one);
    watcher.join();
  }
  for (int descriptor : descriptors)
    ::close(descriptor);
  if (!failed && allSent())
    mpi.finalize();
}

absl::Status MpiCommunicator::sweep() {
  absl::MutexLock lock(&mutex);
  for (auto it = sent.begin(); it != sent.end();) {
    int isDone = 0;
    MpiLibrary::Status status;
    if (mpi.test(&it->request, &isDone, &status) != MpiLibrary::kSuccess) {
      failed = true;
      return absl::UnavailableError("a message could not be sent");
    }
    it = isDone ? sent.erase(it) : std::next(it);
  }
  return absl::OkStatus();
}

absl::Status MpiCommunicator::wait(MpiLibrary::Handle request, MpiLibrary::Status &status,
                                   const std::string &what) {
  NotedOnEarlyEnd noted(absl::StrCat(self.name(), " was waiting, ", what));
  const Clock::time_point end = deadlineAfter(options.watchdogSeconds);
  for (int64_t tries = 0;; ++tries) {
    int isDone = 0;
    ST_RETURN_IF_ERROR(check(mpi.test(&request, &isDone, &status), what));
    if (isDone)
      return absl::OkStatus();
    if (tries % 256 != 255)
      continue;
    // Other processes may need this processor in order to reply.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    ST_RETURN_IF_ERROR(sweep());
    if (Clock::now() > end) {
      absl::MutexLock lock(&mutex);
      failed = true;
      return self.silent(what, options.watchdogSeconds);
    }
  }
}

absl::Status MpiCommunicator::broadcast(absl::Span<uint8_t> bytes, int64_t root) {
  const std::string what = absl::StrCat("broadcast of process ", root);
  for (size_t at = 0; at < bytes.size(); at += kLargestPiece) {
    const size_t count = std::min(kLargestPiece, bytes.size() - at);
    MpiLibrary::Handle request;
    MpiLibrary::Status status;
    ST_RETURN_IF_ERROR(check(mpi.broadcast(bytes.data() + at, static_cast<int>(count), mpi.byte,
                                           static_cast<int>(root), mpi.world, &request),
                             what));
    ST_RETURN_IF_ERROR(wait(request, status, what));
  }
  return absl::OkStatus();
}

absl::Status MpiCommunicator::barrier() {
  MpiLibrary::Handle request;
  MpiLibrary::Status status;
  ST_RETURN_IF_ERROR(check(mpi.barrier(mpi.world, &request), "barrier"));
  return wait(request, status, "barrier of all processes");
}

absl::Status MpiCommunicator::send(absl::Span<const uint8_t> bytes, const Peer &to) {
  ST_RETURN_IF_ERROR(checkPeer(to));
  ST_RETURN_IF_ERROR(sweep());
  for (size_t at = 0; at == 0 || at < bytes.size(); at += kLargestPiece) {
    Sent piece;
    const size_t count = std::min(kLargestPiece, bytes.size() - at);
    piece.bytes.assign(bytes.begin() + static_cast<ptrdiff_t>(at),
                       bytes.begin() + static_cast<ptrdiff_t>(at + count));
    ST_RETURN_IF_ERROR(
        check(mpi.send(piece.bytes.data(), static_cast<int>(count), mpi.byte,
                       static_cast<int>(to.process), to.channel, mpi.world, &piece.request),
              absl::StrCat(to.what, ", sending to process ", to.process)));
    absl::MutexLock lock(&mutex);
    sent.push_back(std::move(piece));
  }
  return absl::OkStatus();
}

absl::Status MpiCommunicator::receive(absl::Span<uint8_t> bytes, const Peer &from) {
  ST_RETURN_IF_ERROR(checkPeer(from));
  const std::string what = receiving(from);
  for (size_t at = 0; at == 0 || at < bytes.size(); at += kLargestPiece) {
    const size_t count = std::min(kLargestPiece, bytes.size() - at);
    MpiLibrary::Handle request;
    MpiLibrary::Status status;
    ST_RETURN_IF_ERROR(
        check(mpi.receive(bytes.data() + at, static_cast<int>(count), mpi.byte,
                          static_cast<int>(from.process), from.channel, mpi.world, &request),
              what));
    ST_RETURN_IF_ERROR(wait(request, status, what));
    int came = 0;
    ST_RETURN_IF_ERROR(check(mpi.count(&status, mpi.byte, &came), what));
    if (static_cast<size_t>(came) != count)
      return absl::InternalError(
          absl::StrCat(what, ": received ", came, " bytes, expected ", count));
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::unique_ptr<Communicator>> createMpiCommunicator(const GroupOptions &options) {
  ST_ASSIGN_OR_RETURN(MpiLibrary mpi, MpiLibrary::open());
  auto communicator = std::make_unique<MpiCommunicator>(mpi, options);
  ST_RETURN_IF_ERROR(communicator->start());
  return communicator;
}

} // namespace st
