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

/// What may vary from run to run of one program.
struct ClientOptions {
  int hostThreads = 0;          ///< 0: as many as the machine has processors
  std::string hostIsa = "auto"; ///< instruction set of host code; bits are promised per choice
  bool timingOnly = false;      ///< take no memory for data: only timeStep will be asked
  /// What timeStep simulates: "each" task of every rank, or "once" each kind of task, which is then
  /// put together by the schedule; "auto": each on up to 64 ranks.
  std::string timeTasks = "auto";
  /// Fault injection for tests: the link message of the first step that gets
  /// lost, counted from 0 over those of rank 0, then of rank 1 and so on. None
  /// where negative.
  int64_t dropMessage = -1;
  /// Links that are slower than the program's description has them, by a factor of their rate:
  /// "chip0-chip1", both ways, "cluster0.1" or "group0", out and in.
  std::vector<std::pair<std::string, double>> derates;
  /// On GPUs: for how long nothing may come from another rank before that is taken for lost.
  double watchdogSeconds = 60;
  /// On GPUs, who computes attention: "cudnn", where it can, or "generated" kernels.
  std::string attention = "cudnn";
  /// On GPUs, whether commands that repeat are given as CUDA graphs, where these can be made.
  bool graphs = true;
  /// On GPUs: no graphs, and each command is waited for before the next one is given, so that an
  /// error names what has failed. Slow.
  bool sync = false;
  /// On GPUs, how products are computed: as is "timed" to be the fastest when the program is
  /// loaded, or as the library proposes "first", with which bits repeat from machine to machine.
  std::string products = "timed";
  /// Figures of the program's description that are other than it says, by their names and a factor:
  /// what if {"chip_gbytes_per_second", 2}?
  std::vector<std::pair<std::string, double>> scales;
};

class Client {
public:
  virtual ~Client() = default;

  /// The value of the Executable's `target` that this client runs.
  virtual absl::string_view target() const = 0;

  /// Puts a program that passed validateExecutable onto its devices.
  virtual absl::StatusOr<std::unique_ptr<Executable>> load(const proto::Executable &program) = 0;

  /// The devices of the programs loaded so far, by ascending id.
  virtual absl::Span<const Device> devices() const = 0;
};

/// A client that simulates DTU clusters on the host.
std::unique_ptr<Client> createDtuClient(const ClientOptions &options);

/// The same for several processes that simulate a program together: each holds the ranks that the
/// communicator gives it, and each simulates the time of all.
std::unique_ptr<Client> createDtuClient(const ClientOptions &options, Communicator &communicator);

/// A client for GPUs and for the host in their place. CUDA is looked for when a program is loaded.
/// Of a program that several processes run together, each holds the ranks that the communicator
/// gives it.
std::unique_ptr<Client> createCudaClient(const ClientOptions &options, Communicator &communicator);

} // namespace st

#endif // ST_RUNTIME_CLIENT_H
