#include "backends/cuda/runtime/trial/CommandTrial.h"

#include "backends/cuda/runtime/commands/CommandExtents.h"
#include "lib/Support/StatusMacros.h"

#include "absl/cleanup/cleanup.h"

namespace st::cuda {

absl::Status CommandTrial::allocateMemory() {
  if (memory)
    return allocated;
  memory.emplace(*runner.rank.device);
  auto add = [&](const proto::CudaPlace &place, int64_t bytes) {
    memory->add(runner.addressOf(place), bytes);
  };
  if (product)
    visitPlaces(*product, runner.context.kernels, add);
  else
    visitPlaces(*attention, runner.context.kernels, add);
  allocated = memory->allocate(product ? product->type() : attention->type());
  untried.Update(allocated);
  return allocated;
}

template <class Work> auto CommandTrial::inMemory(Work work) {
  runner.trial = &*memory;
  absl::Cleanup outside = [&] { runner.trial = nullptr; };
  return work();
}

absl::StatusOr<ProductOperands> CommandTrial::productOperands() {
  ST_RETURN_IF_ERROR(allocateMemory());
  return inMemory([&] { return runner.operandsOf(*product); });
}

absl::StatusOr<AttentionOperands> CommandTrial::attentionOperands() {
  ST_RETURN_IF_ERROR(allocateMemory());
  return inMemory([&] { return runner.operandsOf(*attention); });
}

absl::Status CommandTrial::runBody() {
  ST_RETURN_IF_ERROR(allocateMemory());
  if (!isPrepared)
    ST_RETURN_IF_ERROR(runner.prepare(body, implementations));
  isPrepared = true;
  return inMemory([&] { return runner.runUncaptured(body, stream); });
}

} // namespace st::cuda
