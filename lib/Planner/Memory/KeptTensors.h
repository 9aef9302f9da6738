// What a framework keeps of a block's forward pass for its backward pass.
#ifndef ST_PLANNER_KEPTTENSORS_H
#define ST_PLANNER_KEPTTENSORS_H

#include "lib/Proto/profile.pb.h"
#include "lib/Proto/work.pb.h"

#include <cstdint>
#include <map>
#include <tuple>

namespace st {

/// Bytes of one micro-batch on one device.
struct KeptTensors {
  double kept = 0; ///< from the forward pass of the block to its backward pass
  /// Of `kept`, until the weight task where there is one; and from the backward pass to that task.
  double keptForWeights = 0, gradientsForWeights = 0;
  double working = 0; ///< besides, while the block runs: tensors on their way and their gradients
};

/// How a layout runs the ops of a block.
struct KeepRules {
  /// What lies between the two products of an attention is made again (arXiv 2205.05198, section
  /// 5).
  bool selective = false;
  /// The softmax is several ops in f32: its fused kernel does not take this number of heads.
  bool unfusedSoftmax = false;
};

/// Under a profile of framework ops. A product keeps both factors but for weights, other ops what
/// the profile says of their regions, and each tensor is kept once.
KeptTensors keptByFramework(const proto::ProgramWork &work, int64_t block,
                            const proto::ImplementationProfile &profile, const KeepRules &rules);

/// What keptByFramework said before, by program, block and the rules.
using KeptMemo = std::map<std::tuple<const proto::ProgramWork *, int64_t, bool, bool>, KeptTensors>;

} // namespace st

#endif // ST_PLANNER_KEPTTENSORS_H
