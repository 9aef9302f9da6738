// The planner's building blocks: compiled blocks of a model.
#ifndef ST_PLANNER_BLOCKS_H
#define ST_PLANNER_BLOCKS_H

#include "lib/Planner/Layout.h"
#include "lib/Proto/work.pb.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>
#include <tuple>

namespace st {

/// Parameters of a block's work.
struct BlockKey {
  int64_t tensor = 1, microBatch = 1;
  bool sequenceParallel = false;
  Recompute recompute = Recompute::None;
  bool formsKernels = false;       ///< St's kernels instead of tensor ops
  bool splitsBackward = false;     ///< gradients of weights are separate tasks
  std::string optimizer = "adamw"; ///< one of kOptimizerNames

  auto tie() const {
    return std::tie(tensor, microBatch, sequenceParallel, recompute, formsKernels, splitsBackward,
                    optimizer);
  }
  bool operator<(const BlockKey &other) const { return tie() < other.tie(); }
};

/// A planned model: its blocks are compiled, the rest are counts.
struct PlannedModel {
  std::string name;
  int64_t layers = 0, hidden = 0, heads = 0, sequence = 0;
  int64_t vocabulary = 0;        ///< without padding
  std::string precision = "f16"; ///< "f16", "bf16" or "f32"
};

/// Compiles each block once. A program has the embeddings, two layers and the head; the second
/// layer stands for all but the first.
class BlockSource {
public:
  virtual ~BlockSource() = default;
  /// The work of one device, valid as long as the source.
  virtual absl::StatusOr<const proto::ProgramWork *> get(const BlockKey &key) = 0;
};

/// Layers of the programs that a BlockSource compiles.
constexpr int64_t kCompiledLayers = 2;

} // namespace st

#endif // ST_PLANNER_BLOCKS_H
