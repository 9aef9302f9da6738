#include "passes/Partition/StageCut.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include <limits>

using namespace mlir;
using namespace mlir::st;

double mlir::st::estimateCost(Operation *op) {
  double elements = 0;
  for (Value result : op->getResults())
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      elements += static_cast<double>(type.getNumElements());
  if (!isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op))
    return elements;
  // Each element is a sum over the factors that it does not number.
  ShardingRule rule = getShardingRule(op);
  SmallVector<bool> isContracted(rule.factors.size(), true);
  for (ArrayRef<int64_t> dim : rule.results[0])
    for (int64_t factor : dim)
      isContracted[factor] = false;
  double contracted = 1;
  for (auto [factor, isSummed] : llvm::zip_equal(rule.factors, isContracted))
    if (isSummed)
      contracted *= static_cast<double>(factor.size);
  return 2 * elements * contracted;
}

SmallVector<int64_t> mlir::st::cutEvenly(ArrayRef<double> costs, int64_t parts) {
  int64_t count = costs.size();
  parts = std::min(parts, count);
  SmallVector<double> before(count + 1, 0);
  for (int64_t i = 0; i < count; ++i)
    before[i + 1] = before[i] + costs[i];
  // best[p][i]: the dearest of p runs of the first i costs; start[p][i]: where the
  // last of them begins.
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(count + 1, never));
  std::vector<std::vector<int64_t>> start(parts + 1, std::vector<int64_t>(count + 1, 0));
  best[0][0] = 0;
  for (int64_t p = 1; p <= parts; ++p)
    for (int64_t i = p; i <= count; ++i)
      for (int64_t j = p - 1; j < i; ++j) {
        double dearest = std::max(best[p - 1][j], before[i] - before[j]);
        if (dearest < best[p][i]) {
          best[p][i] = dearest;
          start[p][i] = j;
        }
      }
  SmallVector<int64_t> runs(count, 0);
  for (int64_t p = parts, end = count; p > 0; --p) {
    for (int64_t i = start[p][end]; i < end; ++i)
      runs[i] = p - 1;
    end = start[p][end];
  }
  return runs;
}

/// Runs of a number of ops too large to try all cuts: an op belongs to the stage in
/// which the middle of its cost falls.
static SmallVector<int64_t> cutByRunningSum(ArrayRef<Operation *> ops, int64_t stages) {
  SmallVector<double> costs;
  double total = 0;
  for (Operation *op : ops)
    total += costs.emplace_back(estimateCost(op) + 1);
  SmallVector<int64_t> result;
  double sum = 0;
  for (double cost : costs) {
    int64_t stage = static_cast<int64_t>((sum + cost / 2) / total * static_cast<double>(stages));
    result.push_back(std::min(stage, stages - 1));
    sum += cost;
  }
  return result;
}

SmallVector<int64_t> mlir::st::cutIntoStages(ArrayRef<Operation *> forward, int64_t stages) {
  // Blocks in order of their numbers, with the ops that follow them.
  std::map<int64_t, double> costs;
  SmallVector<int64_t> blockOf;
  int64_t current = 0;
  bool hasBlocks = false;
  for (Operation *op : forward) {
    if (auto block = op->getAttrOfType<IntegerAttr>("st.block")) {
      current = block.getInt();
      hasBlocks = true;
    }
    blockOf.push_back(current);
    costs[current] += estimateCost(op);
  }
  constexpr size_t fewOps = 500;
  if (!hasBlocks || static_cast<int64_t>(costs.size()) < stages) {
    if (forward.size() > fewOps)
      return cutByRunningSum(forward, stages);
    SmallVector<double> each;
    for (Operation *op : forward)
      each.push_back(estimateCost(op) + 1);
    return cutEvenly(each, stages);
  }
  SmallVector<double> each;
  for (auto [block, cost] : costs)
    each.push_back(cost);
  SmallVector<int64_t> runs = cutEvenly(each, stages);
  std::map<int64_t, int64_t> stageOf;
  for (auto [entry, run] : llvm::zip_equal(costs, runs))
    stageOf[entry.first] = run;
  SmallVector<int64_t> result;
  for (int64_t block : blockOf)
    result.push_back(stageOf[block]);
  return result;
}
