// Data transfers between ranks.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_TRANSFERS_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_TRANSFERS_H

#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/commands/GraphUse.h"
#include "backends/cuda/runtime/commands/LeftByUpdate.h"
#include "backends/cuda/runtime/commands/StepRecorder.h"
#include "backends/cuda/runtime/commands/WorkTimer.h"
#include "backends/cuda/runtime/communication/Exchange.h"
#include "backends/cuda/runtime/communication/GpuGroups.h"
#include "backends/cuda/runtime/communication/RemoteRanks.h"
#include "backends/cuda/runtime/trial/OneByOne.h"
#include "lib/Proto/cuda.pb.h"

#include "absl/strings/string_view.h"

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace st::cuda {

/// A rank of this process.
struct Rank {
  int64_t number = 0; ///< among all groups
  GpuDevice *device = nullptr;
  int64_t sharers = 1; ///< number of ranks on this GPU
  Address arena = 0, scratch = 0;
  std::unique_ptr<GpuStream> stream, aside; ///< for kernels, and for concurrent transfers
  absl::Span<const int64_t> table;
  /// For sends that overlap with the rank's work, by channel.
  std::map<Exchange::Channel, std::unique_ptr<GpuStream>> sideStreams;

  /// Consecutive commands that are the same work for every micro-batch.
  struct Recording {
    int64_t runs = 0;
    std::unique_ptr<GpuGraph> graph;
    bool isRefused = false; ///< no graph can be captured
  };
  std::map<std::pair<const proto::CudaCommand *, int64_t>, Recording>
      recordings; // by the first command
  int64_t recordedCommands = 0;
  GraphUse *graphs = nullptr; ///< null: no graphs are captured

  std::shared_ptr<LeftByUpdate> left;     ///< of the arena
  OneByOne *oneByOne = nullptr;           ///< null: commands are not waited for one by one
  std::unique_ptr<StepRecorder> recorder; ///< null: the step is not traced
  std::unique_ptr<WorkTimer> timer;       ///< null: computing times of ranks are not compared
};

/// The ways to transfer data between ranks.
struct Carriers {
  const RemoteRanks &remote;
  const GpuGroups &groups;
  Exchange &exchange;
  double watchdogSeconds;
};

/// The exchanges and messages of a rank, as work of its stream. There are three ways; an exchange
/// uses the first for all its members, or one of the others for each:
///  - NCCL, if each member has a separate GPU (GpuGroups),
///  - copies by the streams of this process's ranks, which wait for each other's marks,
///  - the host's memory, to ranks of other processes. Only then does the host wait for the
///    stream.
class Transfers {
public:
  Transfers(Rank &rank, const Carriers &carriers) : rank(rank), carriers(carriers) {}

  /// Sets the task that errors name.
  void enter(absl::string_view name, int64_t number) {
    task = name;
    microBatch = number;
  }

  absl::Status swap(GpuStream &stream, const proto::CudaExchange &command, Address from,
                    Address to);
  absl::Status send(GpuStream &stream, const proto::CudaSend &send, Address from);
  absl::Status receive(GpuStream &stream, const proto::CudaReceive &receive, Address to);

  /// A part of the current task, as errors name it.
  std::string where(absl::string_view what) const;

  /// Returns when the work of a stream is done, or cannot complete because a rank is lost or has
  /// failed.
  absl::Status wait(GpuStream &stream);
  /// Returns when all work of the rank is done and its sends have been received.
  absl::Status finish();

private:
  /// Work of a stream up to a mark.
  struct UnderWay {
    Mark mark;
    std::string what;
    bool isSent; ///< a send, for which no work of this rank waits
  };

  Rank &rank;
  const Carriers &carriers;
  absl::string_view task;
  int64_t microBatch = 0;
  std::deque<UnderWay> underWay; // by NCCL
  std::vector<GpuGroup *> used;

  int64_t entry(int64_t number) const { return rank.table[static_cast<size_t>(number)]; }
  absl::Status swapByNccl(GpuGroup &group, GpuStream &stream, const proto::CudaExchange &command,
                          Address from, Address to, absl::Span<const int64_t> members);
  absl::Status transfer(GpuGroup &group, GpuStream &stream, absl::Span<const GpuGroup::Piece> sent,
                        absl::Span<const GpuGroup::Piece> received, const std::string &what);
  /// Waits until `isDone`. Errors name `what` or, if that is empty, the first pending transfer;
  /// sends of this rank count only if `forSent`.
  template <class IsDone>
  absl::Status waitUntil(const std::string &what, bool forSent, IsDone isDone);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_TRANSFERS_H
