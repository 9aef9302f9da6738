#include "lib/Planner/Memory/MemoryAdvice.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <vector>

namespace st {
namespace {

struct Change {
  std::string what;
  Layout layout;
  std::string optimizer;
};

/// Lists changes in the order of their usual cost in time.
std::vector<Change> changesOf(const StepInputs &inputs, const Layout &layout) {
  std::vector<Change> changes;
  auto add = [&](std::string what, auto edit) {
    Change change{std::move(what), layout, inputs.optimizer};
    edit(change);
    changes.push_back(std::move(change));
  };
  if (layout.zero == 0 && layout.copies() > 1)
    add("split the optimizer state over the replicas (zero=1)",
        [](Change &c) { c.layout.zero = 1; });
  if (layout.tensor > 1 && !layout.sequenceParallel)
    add("split the sequence between products (sequence parallelism)",
        [](Change &c) { c.layout.sequenceParallel = true; });
  if (layout.recompute == Recompute::None)
    add("recompute the attention scores (recompute=selective)",
        [](Change &c) { c.layout.recompute = Recompute::Selective; });
  if (layout.microBatch % 2 == 0)
    add(absl::StrCat("halve the micro-batch (mb=", layout.microBatch / 2, ")"), [](Change &c) {
      c.layout.microBatch /= 2;
      c.layout.microBatches *= 2;
    });
  if (const std::string coded = inputs.optimizer + kEightBits;
      isOptimizer(coded) && !layout.offloadOptimizer)
    add(absl::StrCat("keep the optimizer's moments in 8 bits (optimizer=", coded, ")"),
        [&](Change &c) { c.optimizer = coded; });
  if (layout.recompute != Recompute::Full)
    add("recompute full layers (recompute=full)",
        [](Change &c) { c.layout.recompute = Recompute::Full; });
  for (int64_t zero : {2, 3})
    if (layout.zero < zero && layout.copies() > 1)
      add(absl::StrCat("split ", zero == 2 ? "gradients" : "parameters",
                       " over the replicas as well (zero=", zero, ")"),
          [&](Change &c) { c.layout.zero = zero; });
  if (!layout.offloadOptimizer && inputs.cluster.has_host_bytes_per_node())
    add("keep the optimizer state in the host's memory (offload)",
        [](Change &c) { c.layout.offloadOptimizer = true; });
  return changes;
}

} // namespace

std::string adviseOnMemory(const StepInputs &inputs, const Layout &layout,
                           const StepEstimate &step) {
  if (step.fit == Fit::Fits)
    return "";
  constexpr double kGib = 1 << 30;
  double minimum = step.memory[step.fullest].needed();
  std::string maximum;
  for (const Change &change : changesOf(inputs, layout)) {
    StepInputs changed = inputs;
    changed.optimizer = change.optimizer;
    const absl::StatusOr<StepEstimate> other = estimateStep(changed, change.layout);
    if (!other.ok())
      continue;
    const double bytes = other->memory[other->fullest].needed();
    std::string text = absl::StrFormat("%s: %.1f GiB a device, a step of %.4g ms", change.what,
                                       bytes / kGib, other->ms);
    if (other->fit == Fit::Fits)
      return text;
    if (bytes < minimum) {
      minimum = bytes;
      maximum = absl::StrCat(text, ", which is not enough alone");
    }
  }
  return maximum.empty() ? "use more tensor shards or stages" : maximum;
}

} // namespace st
