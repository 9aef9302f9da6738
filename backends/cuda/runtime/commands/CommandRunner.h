// Submits a rank's commands to its streams.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDRUNNER_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDRUNNER_H

#include "backends/cuda/runtime/commands/CommandText.h"
#include "backends/cuda/runtime/communication/Transfers.h"

#include <string>

#include "absl/strings/string_view.h"

namespace st::cuda {

class TrialMemory;

/// The implementations of a program's attention.
struct AttentionImplementations {
  bool usesLibrary = true; ///< where possible
  int64_t byLibrary = 0, byKernels = 0;
  absl::Status refused; ///< the first reason to use generated kernels
  absl::Status untried; ///< the reason if the library's results were not compared
};

/// The implementations of products with an activation or operand sums, and of other products.
struct ProductImplementations {
  bool areTimed = true; ///< time the algorithms, and the commands of bodies against them
  int64_t fused = 0;    ///< run with their epilogue
  int64_t refused = 0;  ///< the library has no algorithm
  int64_t slower = 0;   ///< than the commands in the body
  absl::Status reason;  ///< the reason for the first without an algorithm
  absl::Status untried; ///< the reason if an algorithm was not timed
};

struct Implementations {
  AttentionImplementations attention;
  ProductImplementations products;
};

/// Runs commands that validateExecutable has checked. Commands between exchanges, messages and host
/// waits become a graph when they run for the second time; if they cannot be captured, they are
/// submitted one by one.
class CommandRunner {
public:
  CommandRunner(Rank &rank, const Carriers &carriers, absl::Span<const proto::CudaKernel> kernels)
      : rank(rank), transfers(rank, carriers), context{kernels, rank.table} {}

  /// `task` names the program in errors.
  absl::Status run(const proto::CudaProgram &program, absl::string_view task, int64_t microBatch);
  /// Chooses implementations for the products and the attention of a task.
  absl::Status prepare(const proto::CudaProgram &program, Implementations &implementations);
  /// Returns when all submitted work is done.
  absl::Status finish() { return transfers.finish(); }

private:
  friend class CommandTrial;
  using Commands = google::protobuf::RepeatedPtrField<proto::CudaCommand>;

  Rank &rank;
  Transfers transfers;
  CommandContext context;
  GpuStream *stream = nullptr;        ///< of the commands being submitted
  bool isTogether = false;            ///< the commands are part of a graph, or will be
  bool isTimed = false;               ///< the commands are part of a measured time
  const TrialMemory *trial = nullptr; ///< the memory of places while a command is tried

  int64_t entry(int64_t number) const { return rank.table[static_cast<size_t>(number)]; }
  Address addressOf(const proto::CudaPlace &place) const;
  absl::Status prepare(const Commands &commands, Implementations &implementations);
  absl::Status prepare(GpuStream &chosen, const proto::CudaAttention &attention,
                       Implementations &implementations);
  absl::Status prepare(GpuStream &chosen, const proto::CudaProduct &product,
                       Implementations &implementations);
  ProductOperands operandsOf(const proto::CudaProduct &product) const;
  AttentionOperands operandsOf(const proto::CudaAttention &attention) const;
  /// Submits commands to one stream, one by one.
  absl::Status runUncaptured(const Commands &commands, GpuStream &chosen);
  absl::Status run(const Commands &commands);
  absl::Status runTogether(const Commands &commands, int begin, int end, int64_t count);
  /// The same, measured by the rank's timer if there is one.
  absl::Status runTimed(const Commands &commands, int begin, int end, int64_t count);
  /// Marks the recording as refused if the capture fails.
  template <class RunAll> void record(Rank::Recording &recording, int64_t count, RunAll runAll);
  bool runsBody(const proto::CudaCommand &command) const;
  /// Returns true if the previous step's update already wrote a command's results.
  bool isDone(const proto::CudaCommand &command) const {
    return command.left_by_update() && rank.left->areValid();
  }
  absl::Status run(const proto::CudaCommand &command);
  absl::Status submitTimed(const proto::CudaCommand &command);
  absl::Status submit(const proto::CudaCommand &command);
  absl::Status named(const absl::Status &status, const proto::CudaCommand &command) const;
  absl::Status choose(const proto::CudaCommand &command);
  absl::Status launch(const proto::CudaLaunch &launch);
  absl::Status copy(const proto::CudaCopy &copy);
  absl::Status repeat(const proto::CudaLoop &loop);
  absl::Status attend(const proto::CudaAttention &attention);
  absl::Status multiply(const proto::CudaProduct &product);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDRUNNER_H
