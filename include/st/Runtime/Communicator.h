// How the processes that run one executable together agree.
#ifndef ST_RUNTIME_COMMUNICATOR_H
#define ST_RUNTIME_COMMUNICATOR_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>
#include <string>

namespace st {

/// Where a message goes to or comes from. Messages of one channel between two processes arrive in
/// the order in which they were sent.
struct Peer {
  int64_t process = 0;
  int channel = 0; ///< 0 to kMostChannel, or kAgreementChannel
  /// What it is for, as an error says it: "all_reduce @loss of ranks 0 to 3".
  absl::string_view what;
};
constexpr int kMostChannel = 32766;
constexpr int kAgreementChannel = 32767; ///< of the training loop; the last tag that MPI promises

/// A group of processes; each holds some ranks of the executable. Every process
/// makes the same collective calls in the same order. What waits for another process for longer
/// than the watchdog allows is an error that names it; the group is of no use after an error.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int64_t numProcesses() const = 0;
  virtual int64_t process() const = 0;

  /// Which process holds a rank of the executable.
  virtual int64_t processOf(int64_t rank) const = 0;

  /// Every process gets the bytes that `root` holds.
  virtual absl::Status broadcast(absl::Span<uint8_t> bytes, int64_t root) = 0;

  /// Returns once every process has called it.
  virtual absl::Status barrier() = 0;

  /// Sends to another process. `bytes` may change once it returns, which it does at once. Any
  /// number of threads may send and receive.
  virtual absl::Status send(absl::Span<const uint8_t> bytes, const Peer &to) = 0;

  /// Waits for the next message of a channel. It is an error if it has another size.
  virtual absl::Status receive(absl::Span<uint8_t> bytes, const Peer &from) = 0;
};

/// How many processes a launcher started together with this one, and which of them this one is.
struct Launch {
  absl::string_view launcher; ///< "mpirun", "srun", or "RANK and WORLD_SIZE"; empty: none
  int64_t process = 0;
  int64_t processes = 1;
};

/// By what launchers leave in the environment. An error if that cannot be true.
absl::StatusOr<Launch> detectLaunch();

/// An error where a process of the launch cannot join the others again after it was lost: MPI
/// joins once, and torchrun starts processes again itself.
absl::Status requireRestartable(const Launch &launch);

struct GroupOptions {
  int64_t ranks = 1;           ///< of the executable: neighbours are held by the same process
  double watchdogSeconds = 60; ///< how long to wait for another process
};

/// The processes of a launch. mpirun's are joined by MPI, those of others by TCP, at MASTER_ADDR
/// and MASTER_PORT of the environment; srun's by MPI where it offers PMI to an Open MPI. Call once.
absl::StatusOr<std::unique_ptr<Communicator>> joinProcesses(const Launch &launch,
                                                            const GroupOptions &options);

/// One process that holds every rank.
std::unique_ptr<Communicator> createInProcessCommunicator();

/// The processes that Open MPI finds. Its library is opened now: NotFound where it is not there.
/// Call once.
absl::StatusOr<std::unique_ptr<Communicator>> createMpiCommunicator(const GroupOptions &options);

struct TcpOptions {
  GroupOptions group;
  int64_t process = 0, processes = 1;
  std::string address; ///< a name or number of the machine of process 0
  int port = 0;        ///< at which process 0 listens, unless there is a storeKey
  /// Under which process 0 leaves the address at which it listens in the store of PyTorch that
  /// listens at the port; empty: there is none.
  std::string storeKey;
};

/// Processes that find process 0 over the network. Each waits for the others as long as the
/// watchdog allows.
absl::StatusOr<std::unique_ptr<Communicator>> createTcpCommunicator(const TcpOptions &options);

} // namespace st

#endif // ST_RUNTIME_COMMUNICATOR_H
