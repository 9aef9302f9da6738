#include "passes/Memory/RecomputeBudget.h"
#include "passes/Memory/MemoryUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// One more level for one block.
struct Step {
  size_t stage;
  int64_t block;
  RecomputeLevel level;
  double bytesPerCost;
};
} // namespace

int64_t mlir::st::getStashBytes(ProgramOp program) {
  llvm::StringSet<> ofBackward;
  for (auto task : program.getOps<TaskOp>())
    if (task.getPhase() == "backward" || task.getPhase() == "weight")
      for (auto write : task.getBody().front().getOps<WriteOp>())
        ofBackward.insert(write.getTarget());
  int64_t bytes = 0;
  for (auto buffer : program.getOps<BufferOp>())
    if (buffer.getKind() == "stash" && !ofBackward.contains(buffer.getSymName()))
      bytes += getNumBytes(buffer.getType());
  return bytes;
}

int64_t mlir::st::getSavedBytes(ArrayRef<StageStash> stages, const RecomputeLevels &levels) {
  int64_t bytes = 0;
  for (auto [stage, own] : llvm::zip_equal(stages, levels))
    bytes += stage.choose(own).savedBytes;
  return bytes;
}

/// The steps of one block, in order.
static void addSteps(size_t number, const StageStash &stage, int64_t block,
                     SmallVectorImpl<Step> &steps) {
  SmallVector<std::pair<int64_t, double>> levels; // what each saves, and costs
  for (unsigned i = 0; i < kNumRecomputeLevels; ++i) {
    StashChoice choice = stage.choose({{block, static_cast<RecomputeLevel>(i)}});
    levels.push_back({choice.savedBytes, choice.cost});
  }
  for (unsigned at = 0, best = 0;; at = best) {
    double bestRatio = 0;
    for (unsigned i = 0; i < kNumRecomputeLevels; ++i) {
      double saved = static_cast<double>(levels[i].first - levels[at].first);
      double ratio = saved / std::max(levels[i].second - levels[at].second, 1.0);
      if (saved > 0 && ratio > bestRatio) {
        bestRatio = ratio;
        best = i;
      }
    }
    if (best == at)
      return;
    steps.push_back({number, block, static_cast<RecomputeLevel>(best), bestRatio});
  }
}

/// The last block to go a step further need only go as far as still has to be saved.
static void relax(const Step &last, ArrayRef<StageStash> stages, int64_t bytes,
                  RecomputeLevels &levels) {
  DenseMap<int64_t, RecomputeLevel> &own = levels[last.stage];
  double leastCost = stages[last.stage].choose(own).cost;
  RecomputeLevel best = last.level;
  for (unsigned i = 0; i < kNumRecomputeLevels; ++i) {
    own[last.block] = static_cast<RecomputeLevel>(i);
    double cost = stages[last.stage].choose(own).cost;
    if (cost < leastCost && getSavedBytes(stages, levels) >= bytes) {
      leastCost = cost;
      best = own[last.block];
    }
  }
  own[last.block] = best;
}

RecomputeLevels mlir::st::chooseLevels(ArrayRef<StageStash> stages, int64_t bytes) {
  SmallVector<Step> steps;
  for (auto [number, stage] : llvm::enumerate(stages))
    for (int64_t block : stage.getForward().getBlocks())
      addSteps(number, stage, block, steps);
  // A block's own steps stay in order: each saves less for its cost than the one before.
  SmallVector<size_t> order = llvm::to_vector(llvm::seq<size_t>(0, steps.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::tuple(-steps[a].bytesPerCost, a) < std::tuple(-steps[b].bytesPerCost, b);
  });
  auto take = [&](size_t count) {
    RecomputeLevels levels(stages.size());
    for (auto [stage, own] : llvm::zip_equal(stages, levels))
      for (int64_t block : stage.getForward().getBlocks())
        own[block] = RecomputeLevel::Nothing;
    for (size_t i : ArrayRef(order).take_front(count))
      levels[steps[i].stage][steps[i].block] = steps[i].level;
    return levels;
  };
  // Blocks that share what they keep save a little more together than one by one.
  size_t fewest = 0, most = steps.size();
  while (fewest < most) {
    size_t middle = (fewest + most) / 2;
    if (getSavedBytes(stages, take(middle)) >= bytes)
      most = middle;
    else
      fewest = middle + 1;
  }
  RecomputeLevels levels = take(fewest);
  if (fewest > 0)
    relax(steps[order[fewest - 1]], stages, bytes, levels);
  return levels;
}
