#include "passes/Memory/Recompute/RecomputeBudget.h"
#include "passes/Memory/MemoryUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// The bytes that each level saves in a single block, and its cost.
using BlockLevels = std::array<std::pair<int64_t, double>, kNumRecomputeLevels>;

/// Raises one block by one level.
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
static void addSteps(size_t number, const BlockLevels &levels, int64_t block,
                     SmallVectorImpl<Step> &steps) {
  constexpr double least = 1e-6; // a picosecond, for steps without cost
  for (unsigned at = 0, best = 0;; at = best) {
    double bestRatio = 0;
    for (unsigned i = 0; i < kNumRecomputeLevels; ++i) {
      double saved = static_cast<double>(levels[i].first - levels[at].first);
      double ratio = saved / std::max(levels[i].second - levels[at].second, least);
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

static BlockLevels getLevels(const StageStash &stage, int64_t block) {
  BlockLevels levels;
  for (unsigned i = 0; i < kNumRecomputeLevels; ++i) {
    StashChoice choice = stage.choose({{block, static_cast<RecomputeLevel>(i)}});
    levels[i] = {choice.savedBytes, choice.cost};
  }
  return levels;
}

/// The last step may save more than needed, so it, or earlier steps, may be partly unnecessary.
/// Lowers blocks, most expensive first, as far as the excess allows.
static void reduceExcess(ArrayRef<StageStash> stages,
                         ArrayRef<DenseMap<int64_t, BlockLevels>> alone, int64_t bytes,
                         RecomputeLevels &levels) {
  int64_t excess = getSavedBytes(stages, levels) - bytes;
  SmallVector<std::tuple<double, size_t, int64_t>> order; // negated cost, stage, block
  for (auto [stage, own] : llvm::enumerate(levels))
    for (auto [block, level] : own)
      order.push_back({-alone[stage].at(block)[static_cast<size_t>(level)].second, stage, block});
  llvm::sort(order);
  for (auto [minusCost, stage, block] : order) {
    const BlockLevels &own = alone[stage].at(block);
    RecomputeLevel &level = levels[stage][block];
    const int64_t saved = own[static_cast<size_t>(level)].first;
    SmallVector<size_t> cheaper;
    for (size_t i : llvm::seq<size_t>(0, kNumRecomputeLevels))
      if (own[i].second < -minusCost && saved - own[i].first <= excess)
        cheaper.push_back(i);
    llvm::sort(cheaper, [&](size_t a, size_t b) {
      return std::pair(own[a].second, a) < std::pair(own[b].second, b);
    });
    for (size_t i : cheaper) {
      // Blocks share stashed values, so single-block savings are only candidates.
      const RecomputeLevel before = std::exchange(level, static_cast<RecomputeLevel>(i));
      const int64_t left = getSavedBytes(stages, levels) - bytes;
      if (left >= 0) {
        excess = left;
        break;
      }
      level = before;
    }
  }
}

RecomputeLevels mlir::st::chooseLevels(ArrayRef<StageStash> stages, int64_t bytes) {
  SmallVector<Step> steps;
  SmallVector<DenseMap<int64_t, BlockLevels>> alone(stages.size());
  for (auto [number, stage] : llvm::enumerate(stages))
    for (int64_t block : stage.getForward().getBlocks())
      addSteps(number, alone[number][block] = getLevels(stage, block), block, steps);
  // The steps of one block stay in order: each saves less per cost than the one before.
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
  // Blocks that share stashed values save slightly more together than separately.
  size_t fewest = 0, most = steps.size();
  while (fewest < most) {
    size_t middle = (fewest + most) / 2;
    if (getSavedBytes(stages, take(middle)) >= bytes)
      most = middle;
    else
      fewest = middle + 1;
  }
  RecomputeLevels levels = take(fewest);
  reduceExcess(stages, alone, bytes, levels);
  return levels;
}
