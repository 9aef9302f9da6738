// Gives a rank's commands to its stream.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H

#include "backends/cuda/runtime/Exchange.h"
#include "backends/cuda/runtime/GpuDevice.h"
#include "backends/cuda/runtime/RemoteRanks.h"
#include "lib/Proto/executable.pb.h"

#include "absl/strings/string_view.h"

#include <memory>
#include <string>
#include <vector>

namespace st::cuda {

/// A rank that this process holds.
struct Rank {
  int64_t number = 0; ///< among all groups
  GpuDevice *device = nullptr;
  Address arena = 0, scratch = 0;
  std::unique_ptr<GpuStream> stream;
  absl::Span<const int64_t> table;
};

/// Commands were checked by validateExecutable.
class CommandRunner {
public:
  CommandRunner(const Rank &rank, const RemoteRanks &remote, Exchange &exchange)
      : rank(rank), remote(remote), exchange(exchange) {}

  /// `task` is what errors call the program.
  absl::Status run(const proto::CudaProgram &program, absl::string_view task, int64_t microBatch);

private:
  using Commands = google::protobuf::RepeatedPtrField<proto::CudaCommand>;

  const Rank &rank;
  const RemoteRanks &remote;
  Exchange &exchange;
  absl::string_view task;
  int64_t microBatch = 0;

  int64_t entry(int64_t number) const { return rank.table[static_cast<size_t>(number)]; }
  Address addressOf(const proto::CudaPlace &place) const;
  absl::Status run(const Commands &commands);
  absl::Status run(const proto::CudaCommand &command);
  absl::Status launch(const proto::CudaLaunch &launch);
  absl::Status copy(const proto::CudaCopy &copy);
  absl::Status multiply(const proto::CudaProduct &product);
  absl::Status repeat(const proto::CudaLoop &loop);
  std::string where(absl::string_view what) const;
  absl::Status swap(const proto::CudaExchange &command);
  absl::Status send(const proto::CudaSend &send);
  absl::Status receive(const proto::CudaReceive &receive);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H
