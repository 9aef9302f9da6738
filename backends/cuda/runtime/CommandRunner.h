// Gives a rank's commands to its stream.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H

#include "backends/cuda/runtime/Transfers.h"

#include "absl/strings/string_view.h"

namespace st::cuda {

/// Commands were checked by validateExecutable.
class CommandRunner {
public:
  CommandRunner(Rank &rank, const Carriers &carriers) : rank(rank), transfers(rank, carriers) {}

  /// `task` is what errors call the program.
  absl::Status run(const proto::CudaProgram &program, absl::string_view task, int64_t microBatch);
  /// Returns when all of it is done.
  absl::Status wait() { return transfers.wait(); }

private:
  using Commands = google::protobuf::RepeatedPtrField<proto::CudaCommand>;

  Rank &rank;
  Transfers transfers;
  int64_t microBatch = 0;

  int64_t entry(int64_t number) const { return rank.table[static_cast<size_t>(number)]; }
  Address addressOf(const proto::CudaPlace &place) const;
  absl::Status run(const Commands &commands);
  absl::Status run(const proto::CudaCommand &command);
  absl::Status launch(const proto::CudaLaunch &launch);
  absl::Status copy(const proto::CudaCopy &copy);
  absl::Status multiply(const proto::CudaProduct &product);
  absl::Status repeat(const proto::CudaLoop &loop);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDRUNNER_H
