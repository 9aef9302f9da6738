// Estimates blocks from compiled blocks of one and of two sequences.
#ifndef ST_PLANNER_SKETCH_H
#define ST_PLANNER_SKETCH_H

#include "lib/Planner/Step/Blocks.h"

#include <map>
#include <memory>

namespace st {

/// Extrapolates the work of a micro-batch of any size linearly from two sizes. Returns null if
/// their programs have different ops. Sizes of tensors are products of dimensions, and one
/// dimension grows with the micro-batch. So each number of a program is linear in the micro-batch
/// unless the compiler decides otherwise. A sketch may therefore only exclude layouts; results of a
/// search are composed of compiled blocks.
std::unique_ptr<proto::ProgramWork> sketchWork(const proto::ProgramWork &small, int64_t smallSize,
                                               const proto::ProgramWork &large, int64_t largeSize,
                                               int64_t microBatch);

/// Blocks of at most this many sequences are compiled, larger ones sketched.
constexpr int64_t kCompiledSequences = 2;

class BlockSketches {
public:
  explicit BlockSketches(BlockSource &blocks) : blocks(blocks) {}

  /// Compiles blocks of one and two sequences, and of four if one and two differ: a dimension of
  /// one element may use other kernels. Null if there is no sketch; valid as long as the object and
  /// its source.
  const proto::ProgramWork *get(const BlockKey &key);

private:
  const proto::ProgramWork *compile(BlockKey key, int64_t microBatch);

  BlockSource &blocks;
  std::map<BlockKey, std::unique_ptr<proto::ProgramWork>> sketches;
};

} // namespace st

#endif // ST_PLANNER_SKETCH_H
