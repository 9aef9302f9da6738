#include "lib/Planner/Step/ReplicaTime.h"

#include <algorithm>
#include <cmath>

namespace st {
namespace {

double elapsed(const OpTime &time) { return std::max(time.host, time.device); }

/// A layer's gradients are reduced once the last micro-batch has passed it, overlapped with the
/// layers before it. With equal layers the first one's reduction is never hidden.
double exposedReduction(double us, const ReplicaWork &work) {
  return std::max(us / work.layers, us - work.lastBackward * (work.layers - 1) / work.layers);
}

} // namespace

double meanOfLargest(int64_t count) {
  if (count <= 1)
    return 0;
  const double share = (static_cast<double>(count) - 0.375) / (static_cast<double>(count) + 0.25);
  // Newton's method from above on a concave function never steps past the root.
  constexpr int kSteps = 8;
  double x = std::sqrt(2 * std::log(static_cast<double>(count)));
  for (int step = 0; step < kSteps; ++step) {
    const double below = std::erfc(-x / std::sqrt(2.0)) / 2;
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    x -= (below - share) / density;
  }
  return x;
}

ReplicaTime timeReplicas(const Layout &layout, const proto::ImplementationProfile &profile,
                         const Costs &costs, const RankPlacement &placement,
                         const ReplicaWork &work) {
  ReplicaTime time;
  if (layout.copies() == 1)
    return time;
  const auto microBatches = static_cast<double>(layout.microBatches);
  const proto::ZeroProfile &zero = profile.zero();
  auto hostOps = [&](double launches, double tensors) {
    return costs.memoryPass(0, launches * tensors).host;
  };
  auto exchange = [&](const char *kind, const StateAmount &bytes) {
    double us = bytes.dense > 0 ? elapsed(costs.collective(kind, bytes.dense, placement.data)) : 0;
    if (bytes.experts > 0 && layout.expertCopies() > 1)
      us += elapsed(costs.collective(kind, bytes.experts, placement.ofExperts));
    return us;
  };
  double last = exchange(layout.zero >= 1 ? "reduce_scatter" : "all_reduce", work.gradientBytes);
  if (layout.zero == 1 || layout.zero == 2)
    last += exchange("all_gather", work.updatedBytes);
  time.reduction = profile.reduces_in_backward() ? exposedReduction(last, work) : last;
  if (placement.data.perNode < placement.data.ranks)
    time.reduction += profile.replica_skew() * meanOfLargest(placement.data.ranks) * work.passes;
  if (layout.zero >= 1)
    time.reduction += hostOps(zero.update_launches(), work.trainedTensors);
  if (layout.zero >= 2) {
    const double each = exchange("reduce_scatter", work.gradientBytes);
    time.reduction +=
        (microBatches - 1) * (profile.reduces_in_backward() ? exposedReduction(each, work) : each) +
        microBatches * hostOps(zero.gradient_launches(), work.trainedTensors);
  }
  if (layout.zero >= 3) {
    const double all = 2 * microBatches * exchange("all_gather", work.weightBytes);
    // The gather of the next layer's weights overlaps the running layer; the first gather overlaps
    // nothing.
    time.gathers = zero.prefetches() ? std::max(all / work.layers,
                                                all - work.passes * (work.layers - 1) / work.layers)
                                     : all;
    time.gathers += 2 * microBatches * hostOps(zero.gather_launches(), work.tensors);
  }
  return time;
}

} // namespace st
