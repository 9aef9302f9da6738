// The ranks that other processes hold, and messages to and from them.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_REMOTERANKS_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_REMOTERANKS_H

#include "backends/cuda/runtime/communication/ProgramPeers.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <map>

namespace st::cuda {

/// Between two processes a channel stands for one from rank to rank. What the program sends is the
/// same everywhere, so all processes number them alike.
class RemoteRanks {
public:
  static absl::StatusOr<RemoteRanks> create(const ProgramPeers &peers, Communicator &communicator);

  bool isHere(int64_t rank) const {
    return communicator->processOf(rank) == communicator->process();
  }

  /// From and into the memory of a device. `what` is said in errors.
  absl::Status send(const Exchange::Channel &channel, absl::string_view what, GpuDevice &device,
                    Address from, int64_t bytes) const;
  absl::Status receive(const Exchange::Channel &channel, absl::string_view what, GpuDevice &device,
                       Address to, int64_t bytes) const;

private:
  Communicator *communicator = nullptr;
  std::map<Exchange::Channel, int> numbers; // of channels between processes
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_REMOTERANKS_H
