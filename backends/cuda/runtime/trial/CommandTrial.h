// Tries a command before a program runs.
#ifndef ST_BACKENDS_CUDA_RUNTIME_TRIAL_COMMANDTRIAL_H
#define ST_BACKENDS_CUDA_RUNTIME_TRIAL_COMMANDTRIAL_H

#include "backends/cuda/runtime/commands/CommandRunner.h"
#include "backends/cuda/runtime/trial/TrialMemory.h"

#include <optional>

namespace st::cuda {

/// A product or attention with the commands in its body. Allocates memory at the first request of
/// a stream.
class CommandTrial : public GpuTrial {
public:
  /// `implementations` records a failed allocation. All arguments must outlive the trial.
  CommandTrial(CommandRunner &runner, GpuStream &stream, const proto::CudaProduct &product,
               Implementations &implementations)
      : runner(runner), stream(stream), implementations(implementations), product(&product),
        body(product.body()), untried(implementations.products.untried) {}
  CommandTrial(CommandRunner &runner, GpuStream &stream, const proto::CudaAttention &attention,
               Implementations &implementations)
      : runner(runner), stream(stream), implementations(implementations), attention(&attention),
        body(attention.body()), untried(implementations.attention.untried) {}

  absl::StatusOr<ProductOperands> productOperands() override;
  absl::StatusOr<AttentionOperands> attentionOperands() override;
  bool hasBody() const override { return !body.empty(); }
  absl::Status runBody() override;

private:
  CommandRunner &runner;
  GpuStream &stream;
  Implementations &implementations;
  const proto::CudaProduct *product = nullptr;
  const proto::CudaAttention *attention = nullptr; ///< one of the two
  const CommandRunner::Commands &body;
  absl::Status &untried;
  std::optional<TrialMemory> memory;
  absl::Status allocated;  ///< the result of the allocation
  bool isPrepared = false; ///< of the body

  absl::Status allocateMemory();
  /// Runs `work` with addresses in the memory of the trial.
  template <class Work> auto inMemory(Work work);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_TRIAL_COMMANDTRIAL_H
