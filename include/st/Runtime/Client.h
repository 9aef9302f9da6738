// A kind of device and the way to load programs onto it.
#ifndef ST_RUNTIME_CLIENT_H
#define ST_RUNTIME_CLIENT_H

#include "st/Runtime/Device.h"
#include "st/Runtime/Executable.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace st {

class Communicator;
namespace proto {
class Executable;
}

/// Options that may vary between runs of one program.
struct ClientOptions {
  int hostThreads = 0;          ///< 0: one per processor
  std::string hostIsa = "auto"; ///< instruction set of host code; results repeat to the bit for one
                                ///< choice
  bool timingOnly = false;      ///< allocates no data: only timeStep may be called
  /// The tasks that timeStep simulates: "each" task of every rank, or each kind of task "once",
  /// combined by the schedule; "auto": each on up to 64 ranks.
  std::string timeTasks = "auto";
  /// Fault injection for tests: the link message of the first step to lose, counted from 0 over
  /// those of rank 0, then of rank 1 and so on. Negative: none.
  int64_t dropMessage = -1;
  /// Links that are slower than in the program's device description, with the factor of their rate:
  /// "chip0-chip1" (both directions), "cluster0.1" or "group0" (out and in).
  std::vector<std::pair<std::string, double>> derates;
  /// On GPUs: seconds without a message from another rank until it counts as lost.
  double watchdogSeconds = 60;
  /// On GPUs, the implementation of attention: "cudnn" where it supports the shape, or "generated"
  /// kernels.
  std::string attention = "cudnn";
  /// On GPUs: repeated commands are issued as CUDA graphs, if they can be captured.
  bool graphs = true;
  /// On GPUs: no graphs, and the host waits for each command before it issues the next, so an error
  /// names the failed command. Slow.
  bool sync = false;
  /// On GPUs, the algorithm of products. "timed": the fastest one, measured when the program is
  /// loaded. "first": the library's first proposal, whose results are bitwise equal on every
  /// machine.
  std::string products = "timed";
  /// Factors by which figures of the program's device description are multiplied, by name, for
  /// hypothetical hardware: {"chip_gbytes_per_second", 2}.
  std::vector<std::pair<std::string, double>> scales;
};

class Client {
public:
  virtual ~Client() = default;

  /// The value of the Executable's `target` that this client runs.
  virtual absl::string_view target() const = 0;

  /// Loads a program that passed validateExecutable onto its devices.
  virtual absl::StatusOr<std::unique_ptr<Executable>> load(const proto::Executable &program) = 0;

  /// The devices of all loaded programs, by ascending id.
  virtual absl::Span<const Device> devices() const = 0;
};

/// A client that simulates DTU clusters on the host.
std::unique_ptr<Client> createDtuClient(const ClientOptions &options);

/// The same for several processes that simulate a program together: each holds the ranks that the
/// communicator assigns to it, and each simulates the time of all.
std::unique_ptr<Client> createSharedDtuClient(const ClientOptions &options,
                                              Communicator &communicator);

/// A client for GPUs, and for the host instead of GPUs. It looks for CUDA when a program is loaded.
/// If several processes run a program together, each holds the ranks that the communicator assigns
/// to it.
std::unique_ptr<Client> createCudaClient(const ClientOptions &options, Communicator &communicator);

} // namespace st

#endif // ST_RUNTIME_CLIENT_H
