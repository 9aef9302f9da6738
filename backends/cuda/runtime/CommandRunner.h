// Gives a rank's commands to its stream.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H

#include "backends/cuda/runtime/Exchange.h"
#include "backends/cuda/runtime/GpuDevice.h"
#include "lib/Proto/executable.pb.h"

#include <memory>
#include <vector>

namespace st::cuda {

/// Where a rank has its memory.
struct RankMemory {
  Address arena = 0, scratch = 0;
};

struct Rank {
  int64_t number = 0; ///< among all groups
  GpuDevice *device = nullptr;
  std::unique_ptr<GpuStream> stream;
  absl::Span<const int64_t> table;
};

/// Commands were checked by validateExecutable.
class CommandRunner {
public:
  CommandRunner(const Rank &rank, absl::Span<const RankMemory> memories, Exchange &exchange)
      : rank(rank), memories(memories), exchange(exchange) {}

  absl::Status run(const proto::CudaProgram &program, int64_t microBatch);

private:
  using Commands = google::protobuf::RepeatedPtrField<proto::CudaCommand>;

  const Rank &rank;
  absl::Span<const RankMemory> memories;
  Exchange &exchange;
  int64_t microBatch = 0;

  int64_t entry(int64_t number) const { return rank.table[static_cast<size_t>(number)]; }
  Address addressOf(const proto::CudaPlace &place) const;
  absl::Status run(const Commands &commands);
  absl::Status run(const proto::CudaCommand &command);
  absl::Status launch(const proto::CudaLaunch &launch);
  absl::Status copy(const proto::CudaCopy &copy);
  absl::Status multiply(const proto::CudaProduct &product);
  absl::Status repeat(const proto::CudaLoop &loop);
  absl::Status meet(const proto::CudaMeet &meet);
  absl::Status send(const proto::CudaSend &send);
  absl::Status receive(const proto::CudaReceive &receive);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H
