#include "passes/Partition/StageCut.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/St/Sharding/ReshardPlan.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include <limits>
#include <map>

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

SmallVector<int64_t> mlir::st::cutEvenly(ArrayRef<double> costs, int64_t parts,
                                         ArrayRef<double> before) {
  int64_t count = costs.size();
  parts = std::min(parts, count);
  SmallVector<double> sums(count + 1, 0), cuts(count + 1, 0);
  for (int64_t i = 0; i < count; ++i)
    sums[i + 1] = sums[i] + costs[i];
  llvm::copy(before, cuts.begin());
  // best[p][i]: the dearest of p runs of the first i costs; start[p][i]: where the
  // last of them begins.
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(count + 1, never));
  std::vector<std::vector<int64_t>> start(parts + 1, std::vector<int64_t>(count + 1, 0));
  best[0][0] = 0;
  for (int64_t p = 1; p <= parts; ++p)
    for (int64_t i = p; i <= count; ++i)
      for (int64_t j = p - 1; j < i; ++j) {
        double dearest = std::max(best[p - 1][j], sums[i] - sums[j] + cuts[i] + cuts[j]);
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

/// What it costs, in floating-point operations, to cut before each of the pieces of which ops are:
/// the values that pass from one before it to one behind it are sent.
static SmallVector<double> costsOfCuts(ArrayRef<Operation *> ops, ArrayRef<int64_t> pieceOf,
                                       int64_t count) {
  // A value is sent once and its cotangent once, while three times its ops are computed: itself and
  // the gradients of both operands. A T10 computes 200 operations in the time of a byte on a link.
  constexpr double costOfByte = 200.0 * 2 / 3;
  DenseMap<Operation *, int64_t> pieces;
  for (auto [op, piece] : llvm::zip_equal(ops, pieceOf))
    pieces[op] = piece;
  SmallVector<double> change(count + 1, 0);
  for (auto [op, piece] : llvm::zip_equal(ops, pieceOf))
    for (Value result : op->getResults()) {
      int64_t last = piece;
      for (Operation *user : result.getUsers())
        if (Operation *outer = op->getBlock()->findAncestorOpInBlock(*user))
          if (auto it = pieces.find(outer); it != pieces.end())
            last = std::max(last, it->second);
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type || last == piece)
        continue;
      double cost = costOfByte * static_cast<double>(type.getNumElements() * elementBytes(type));
      change[piece + 1] += cost;
      if (last + 1 < count)
        change[last + 1] -= cost;
    }
  for (int64_t i = 1; i < count; ++i)
    change[i] += change[i - 1];
  change.pop_back();
  return change;
}

/// Of ops too many to try all cuts, runs that stay together: between the best cuts of equally long
/// stretches.
static SmallVector<int64_t> joinOps(ArrayRef<Operation *> ops, int64_t most) {
  auto count = static_cast<int64_t>(ops.size());
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, count));
  if (count <= most)
    return all;
  SmallVector<double> cuts = costsOfCuts(ops, all, count);
  SmallVector<int64_t> runOf(count, 0);
  for (int64_t piece = 1; piece < most; ++piece) {
    auto from = cuts.begin() + piece * count / most, to = cuts.begin() + (piece + 1) * count / most;
    runOf[std::min_element(from, to) - cuts.begin()] = 1;
  }
  for (int64_t i = 1; i < count; ++i)
    runOf[i] += runOf[i - 1];
  return runOf;
}

/// The number of each op's block among those that there are, ascending.
static SmallVector<int64_t> piecesOfBlocks(ArrayRef<Operation *> ops) {
  std::map<int64_t, int64_t> numbers;
  SmallVector<int64_t> blockOf;
  int64_t current = 0;
  bool hasBlocks = false;
  for (Operation *op : ops) {
    if (auto block = op->getAttrOfType<IntegerAttr>("st.block")) {
      current = block.getInt();
      hasBlocks = true;
    }
    blockOf.push_back(current);
    numbers[current] = 0;
  }
  if (!hasBlocks)
    return {};
  for (auto [i, entry] : llvm::enumerate(numbers))
    entry.second = static_cast<int64_t>(i);
  for (int64_t &block : blockOf)
    block = numbers[block];
  return blockOf;
}

SmallVector<int64_t> mlir::st::cutIntoStages(ArrayRef<Operation *> forward, int64_t stages) {
  constexpr int64_t mostRuns = 500;
  auto countOf = [](ArrayRef<int64_t> pieces) {
    return pieces.empty() ? 0 : *std::max_element(pieces.begin(), pieces.end()) + 1;
  };
  SmallVector<int64_t> pieceOf = piecesOfBlocks(forward);
  // An op without elements to compute takes a place too.
  double least = 0;
  if (countOf(pieceOf) < stages) {
    pieceOf = joinOps(forward, std::max(mostRuns, stages));
    least = 1;
  }
  int64_t count = countOf(pieceOf);
  SmallVector<double> costs(count, 0);
  for (auto [op, piece] : llvm::zip_equal(forward, pieceOf))
    costs[piece] += estimateCost(op) + least;
  SmallVector<int64_t> runs = cutEvenly(costs, stages, costsOfCuts(forward, pieceOf, count));
  SmallVector<int64_t> result;
  for (int64_t piece : pieceOf)
    result.push_back(runs[piece]);
  return result;
}
