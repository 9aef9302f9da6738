#include "lib/Planner/Step/BlockTime.h"

namespace st {
namespace {

class BlockTimer {
public:
  BlockTimer(const BlockContext &context, const proto::ProgramWork &work, int64_t block)
      : layout(context.layout), heads(context.model.heads), vocabulary(context.model.vocabulary),
        profile(context.profile), costs(context.costs), placement(context.placement), work(work),
        block(block), isLayer(context.model.isLayer(block)),
        isHead(block == context.model.headBlock()) {}

  BlockTime run();

private:
  /// Returns true if a framework runs this op: it keeps results of cheap ops too, and reruns a full
  /// layer under full recomputation.
  bool isRun(const proto::OpWork &op) const;
  OpTime timeOp(const proto::OpWork &op) const;
  proto::OpWork withoutPadding(proto::OpWork op) const;
  OpTime timeCollective(const proto::OpWork &op) const;
  OpTime unfusedSoftmax(const proto::OpWork &op) const;
  void noteSizes(const proto::OpWork &op, const OpTime &time, BlockTime &times) const;
  void addExpertWeights(BlockTime &times) const;

  const Layout &layout;
  const int64_t heads, vocabulary;
  const proto::ImplementationProfile &profile;
  const Costs &costs;
  const RankPlacement &placement;
  const proto::ProgramWork &work;
  const int64_t block;
  const bool isLayer, isHead;
};

bool BlockTimer::isRun(const proto::OpWork &op) const {
  if (!profile.framework_ops() || !op.is_recomputed())
    return true;
  if (layout.recompute != Recompute::Selective)
    return false;
  return op.kind() != proto::OpWork::MEMORY || op.region() == "softmax" ||
         op.region() == "dropout" || op.region() == "mask";
}

/// Ranks arrive at a collective at different times, and wait for the last one.
OpTime BlockTimer::timeCollective(const proto::OpWork &op) const {
  const GroupPlacement group = placement.groupOf(op);
  OpTime time = costs.collective(op.collective(), op.bytes(), group);
  time.device += profile.collective_skew_us() * (group.ranks - 1);
  return time;
}

/// Additional time of a softmax if its fused kernel does not support this number of heads: scale,
/// mask, conversion to f32, softmax and conversion back are separate ops.
OpTime BlockTimer::unfusedSoftmax(const proto::OpWork &op) const {
  const double bytes = op.read_bytes() + op.written_bytes();
  if (op.is_gradient()) {
    OpTime more = costs.memoryPass(bytes * profile.unfused_softmax_passes(),
                                   profile.unfused_softmax_gradient_launches());
    more.host *= profile.gradient_launch_share();
    return more;
  }
  return costs.memoryPass(bytes * profile.unfused_softmax_passes(),
                          profile.unfused_softmax_launches());
}

/// Scales an op of the head to the true vocabulary: blocks are compiled for a padded one.
proto::OpWork BlockTimer::withoutPadding(proto::OpWork op) const {
  constexpr int64_t kMaxPadding = 128;
  auto unpad = [&](int64_t size) {
    return size >= vocabulary && size < vocabulary + kMaxPadding ? vocabulary : size;
  };
  op.set_n(unpad(op.n()));
  op.set_k(unpad(op.k()));
  return op;
}

OpTime BlockTimer::timeOp(const proto::OpWork &op) const {
  if (op.kind() == proto::OpWork::COLLECTIVE)
    return timeCollective(op);
  const bool isOfHead = isHead && op.kind() == proto::OpWork::PRODUCT;
  if (isOfHead && layout.tensor == 1 && profile.unpadded_whole_vocabulary())
    return costs.op(withoutPadding(op));
  OpTime time = costs.op(op);
  const int64_t multiple = profile.fused_softmax_multiple();
  if (profile.framework_ops() && op.region() == "softmax" && multiple > 0 &&
      (layout.microBatch * heads / layout.tensor) % multiple != 0)
    time += unfusedSoftmax(op);
  return time;
}

void BlockTimer::noteSizes(const proto::OpWork &op, const OpTime &time, BlockTime &times) const {
  const double factor = costs.sizeFactor(op);
  if (factor == 1)
    return;
  times.lostUs += time.device * (1 - factor);
  constexpr int64_t kGoodMultiple = 64;
  for (int64_t size : {op.k(), op.n()})
    if (size % kGoodMultiple != 0)
      times.badSizes.insert(size);
}

/// Without a capacity, St's program gathers the weights of experts before the passes, and reduces
/// their gradients to the devices that own them.
void BlockTimer::addExpertWeights(BlockTime &times) const {
  visitExpertWeights(work, block, [&](const proto::OpWork &op, bool isGather) {
    (isGather ? times.gathers : times.scatters) += timeCollective(op);
  });
}

BlockTime BlockTimer::run() {
  BlockTime times;
  const QueuedWork entry =
      profile.framework_ops() && isLayer ? costs.memoryPass(0, profile.layer_launches()) : OpTime();
  times.forward = entry;
  QueuedWork gradient;
  double forwardFlops = 0;
  for (const proto::PhaseWork &phase : work.phases()) {
    const bool isForward = phase.phase() == "forward", isWeight = phase.phase() == "weight",
               isBackward = isWeight || phase.phase() == "backward";
    if (phase.block() != block || (!isForward && !isBackward))
      continue;
    for (const proto::OpWork &op : phase.ops()) {
      if (!isRun(op))
        continue;
      const OpTime time = timeOp(op);
      (isForward ? times.forward : isWeight ? times.weight : gradient) += time;
      if (op.kind() != proto::OpWork::PRODUCT)
        continue;
      noteSizes(op, time, times);
      (isBackward && op.is_recomputed() ? times.againFlops : times.productFlops) += op.flops();
      if (isForward)
        forwardFlops += op.flops();
    }
  }
  const bool runsAgain = profile.framework_ops() && layout.recompute == Recompute::Full && isLayer;
  times.backward = runsAgain ? times.forward : entry;
  if (runsAgain)
    times.againFlops += forwardFlops;
  times.backward += gradient;
  addExpertWeights(times);
  return times;
}

} // namespace

BlockTime timeBlock(const BlockContext &context, const proto::ProgramWork &work, int64_t block) {
  return BlockTimer(context, work, block).run();
}

} // namespace st
