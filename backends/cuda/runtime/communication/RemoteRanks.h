// Messages to and from ranks of other processes.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_REMOTERANKS_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_REMOTERANKS_H

#include "backends/cuda/runtime/communication/ProgramPeers.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <map>

namespace st::cuda {

/// Each channel between two ranks maps to a channel between their processes. The program is the
/// same everywhere, so all processes assign the same numbers.
class RemoteRanks {
public:
  static absl::StatusOr<RemoteRanks> create(const ProgramPeers &peers, Communicator &communicator);

  bool isLocal(int64_t rank) const {
    return communicator->processOf(rank) == communicator->process();
  }

  /// Transfers from and to device memory. `what` appears in errors.
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
