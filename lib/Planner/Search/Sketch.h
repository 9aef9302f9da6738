// Blocks that were not compiled, from those of one and of two sequences.
#ifndef ST_PLANNER_SKETCH_H
#define ST_PLANNER_SKETCH_H

#include "lib/Planner/Step/Blocks.h"

#include <map>
#include <memory>

namespace st {

/// The work of a micro-batch of any size, on the line through those of two sizes; null where their
/// programs are not of the same ops. Sizes of tensors are products of dimensions, of which one
/// grows with the micro-batch: each number of a program is on such a line, unless the compiler
/// decides otherwise for it. So a sketch serves to leave layouts out, and what a search returns is
/// composed of compiled blocks.
std::unique_ptr<proto::ProgramWork> sketchWork(const proto::ProgramWork &small, int64_t smallSize,
                                               const proto::ProgramWork &large, int64_t largeSize,
                                               int64_t microBatch);

/// Blocks of so many sequences are compiled, larger ones sketched.
constexpr int64_t kCompiledSequences = 2;

class BlockSketches {
public:
  explicit BlockSketches(BlockSource &blocks) : blocks(blocks) {}

  /// Compiles blocks of one and of two sequences, and of four where one and two are not alike: a
  /// dimension of one element may take other kernels. Null where there is no sketch; valid as long
  /// as the object and its source.
  const proto::ProgramWork *get(const BlockKey &key);

private:
  const proto::ProgramWork *compile(BlockKey key, int64_t microBatch);

  BlockSource &blocks;
  std::map<BlockKey, std::unique_ptr<proto::ProgramWork>> sketches;
};

} // namespace st

#endif // ST_PLANNER_SKETCH_H
