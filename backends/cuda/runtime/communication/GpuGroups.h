// The groups of ranks that NCCL connects.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_GPUGROUPS_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_GPUGROUPS_H

#include "backends/cuda/runtime/communication/ProgramPeers.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace st::cuda {

/// The NCCL groups of the ranks in this process: the members of exchanges, and the sender and
/// receiver of each channel between processes. Every member needs a separate GPU; otherwise there
/// is no group, and data goes through GPU or host memory.
class GpuGroups {
public:
  /// All processes must call it; it returns when the groups are connected. `devices` are by rank,
  /// null for other processes' ranks.
  static absl::StatusOr<GpuGroups> create(const ProgramPeers &peers,
                                          absl::Span<GpuDevice *const> devices,
                                          Communicator &communicator, double watchdogSeconds);

  /// The group of a rank of this process; null if there is none.
  GpuGroup *find(int64_t rank, absl::Span<const int64_t> members) const;
  GpuGroup *find(int64_t rank, const Exchange::Channel &channel) const;

  /// The number of ranks, over all processes, that share the GPU of a rank of this process.
  int64_t countSharers(int64_t rank) const { return sharers[static_cast<size_t>(rank)]; }

  static constexpr int64_t kSender = 0, kReceiver = 1; ///< members of a channel's group

private:
  /// Members, and the channel of messages or kExchangeChannel.
  using Key = std::pair<std::vector<int64_t>, int64_t>;

  absl::Status join(const Key &key, const std::string &id, absl::Span<GpuDevice *const> devices,
                    double watchdogSeconds);

  absl::Status testGroup(const Key &key, absl::Span<GpuDevice *const> devices,
                         double watchdogSeconds);

  std::map<std::pair<int64_t, Key>, std::unique_ptr<GpuGroup>> groups; // by rank
  std::map<GpuDevice *, Address> places;                               // for trials
  std::vector<int64_t> sharers;                                        // by rank
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_GPUGROUPS_H
