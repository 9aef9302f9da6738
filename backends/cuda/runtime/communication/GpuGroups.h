// Which ranks NCCL joins.
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

/// The groups of the ranks that this process holds: the members of exchanges, and sender and
/// receiver of a channel between processes. Each member has a GPU of its own, or there is no group,
/// and memory of the GPUs or of the host carries what they exchange.
class GpuGroups {
public:
  /// All processes call it, and return when the groups have come together. `devices` are by rank,
  /// of other processes null.
  static absl::StatusOr<GpuGroups> create(const ProgramPeers &peers,
                                          absl::Span<GpuDevice *const> devices,
                                          Communicator &communicator, double watchdogSeconds);

  /// Of a rank of this process; null: there is none.
  GpuGroup *find(int64_t rank, absl::Span<const int64_t> members) const;
  GpuGroup *find(int64_t rank, const Exchange::Channel &channel) const;

  /// How many ranks of all processes have the GPU of a rank of this process.
  int64_t countSharers(int64_t rank) const { return sharers[static_cast<size_t>(rank)]; }

  static constexpr int64_t kSender = 0, kReceiver = 1; ///< members of a channel's group

private:
  /// Members, and the channel of messages or kExchangeChannel.
  using Key = std::pair<std::vector<int64_t>, int64_t>;

  absl::Status join(const Key &key, const std::string &id, absl::Span<GpuDevice *const> devices,
                    double watchdogSeconds);

  absl::Status tryOut(const Key &key, absl::Span<GpuDevice *const> devices, double watchdogSeconds);

  std::map<std::pair<int64_t, Key>, std::unique_ptr<GpuGroup>> groups; // by rank
  std::map<GpuDevice *, Address> places;                               // for trials
  std::vector<int64_t> sharers;                                        // by rank
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_GPUGROUPS_H
