// Communication between the processes that run one executable together.
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

/// The other end of a message. Messages of one channel between two processes arrive in the order of
/// their sends.
struct Peer {
  int64_t process = 0;
  int channel = 0; ///< 0 to kMaxChannel, kSavingChannel or kAgreementChannel
  /// The purpose, for errors: "all_reduce @loss of ranks 0 to 3".
  absl::string_view what;
};
constexpr int kMaxChannel = 32765;
constexpr int kSavingChannel = 32766;    ///< for checkpoints that are written during training
constexpr int kAgreementChannel = 32767; ///< for the training loop; the last tag that MPI
                                         ///< guarantees

/// A group of processes; each holds some ranks of the executable. Every process makes the same
/// collective calls in the same order. Waiting for another process for longer than the watchdog
/// allows is an error that names it; the group is unusable after an error.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int64_t numProcesses() const = 0;
  virtual int64_t process() const = 0;

  /// The process that holds a rank of the executable.
  virtual int64_t processOf(int64_t rank) const = 0;

  /// Every process gets the bytes of `root`.
  virtual absl::Status broadcast(absl::Span<uint8_t> bytes, int64_t root) = 0;

  /// Returns once every process has called it.
  virtual absl::Status barrier() = 0;

  /// Sends to another process without waiting for it; `bytes` may change after the call. Any number
  /// of threads may send and receive.
  virtual absl::Status send(absl::Span<const uint8_t> bytes, const Peer &to) = 0;

  /// Waits for the next message of a channel. A message of another size is an error.
  virtual absl::Status receive(absl::Span<uint8_t> bytes, const Peer &from) = 0;
};

/// The number of processes that a launcher started together with this one, and the number of this
/// one.
struct Launch {
  absl::string_view launcher; ///< "mpirun", "srun", or "RANK and WORLD_SIZE"; empty: none
  int64_t process = 0;
  int64_t processes = 1;
};

/// Reads the launcher's environment variables. An error if they are inconsistent.
absl::StatusOr<Launch> detectLaunch();

/// An error if a lost process of the launch cannot join the others again: MPI joins once, and
/// torchrun restarts processes itself.
absl::Status requireRestartable(const Launch &launch);

struct GroupOptions {
  int64_t ranks = 1;           ///< of the executable; a process holds neighbouring ranks
  double watchdogSeconds = 60; ///< how long to wait for another process
};

/// Joins the processes of a launch. Those of mpirun join by MPI, and those of other launchers by
/// TCP, at MASTER_ADDR and MASTER_PORT of the environment. Those of srun join by MPI if it offers
/// PMI to an Open MPI. Call once.
absl::StatusOr<std::unique_ptr<Communicator>> joinProcesses(const Launch &launch,
                                                            const GroupOptions &options);

/// One process that holds every rank.
std::unique_ptr<Communicator> createInProcessCommunicator();

/// The processes that Open MPI finds. Opens its library now; NotFound without it. Call once.
absl::StatusOr<std::unique_ptr<Communicator>> createMpiCommunicator(const GroupOptions &options);

struct TcpOptions {
  GroupOptions group;
  int64_t process = 0, processes = 1;
  std::string address; ///< name or number of the machine of process 0
  int port = 0;        ///< on which process 0 listens, unless there is a storeKey
  /// Key under which process 0 publishes its address in PyTorch's store at this port; empty: no
  /// store.
  std::string storeKey;
};

/// Processes that find process 0 over the network. Each waits for the others as long as the
/// watchdog allows.
absl::StatusOr<std::unique_ptr<Communicator>> createTcpCommunicator(const TcpOptions &options);

} // namespace st

#endif // ST_RUNTIME_COMMUNICATOR_H
