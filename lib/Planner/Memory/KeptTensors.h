// Tensors that a framework keeps from a block's forward pass for its backward pass.
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
  /// For the weight task, if there is one: its part of `kept`, and the bytes that the backward pass
  /// keeps for it.
  double keptForWeights = 0, gradientsForWeights = 0;
  double working = 0; ///< in addition, while the block runs: temporaries and their gradients
};

/// The way in which a layout runs the ops of a block.
struct KeepRules {
  /// Recomputes the part between the two products of an attention (arXiv 2205.05198, section 5).
  bool selective = false;
  /// The softmax is several f32 ops: its fused kernel does not support this number of heads.
  bool unfusedSoftmax = false;
};

/// Kept bytes under a profile of framework ops. A product keeps both factors except weights; other
/// ops keep what the profile specifies for their regions. Each tensor is kept once.
KeptTensors keptByFramework(const proto::ProgramWork &work, int64_t block,
                            const proto::ImplementationProfile &profile, const KeepRules &rules);

/// Results of keptByFramework by program, block and rules.
using KeptMemo = std::map<std::tuple<const proto::ProgramWork *, int64_t, bool, bool>, KeptTensors>;

} // namespace st

#endif // ST_PLANNER_KEPTTENSORS_H
