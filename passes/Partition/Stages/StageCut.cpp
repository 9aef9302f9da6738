#include "passes/Partition/Stages/StageCut.h"
#include "dialects/St/Sharding/OpWork.h"
#include "dialects/St/Sharding/ReshardPlan.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

using namespace mlir;
using namespace mlir::st;

SmallVector<int64_t> mlir::st::splitEvenly(ArrayRef<double> costs, int64_t parts,
                                           ArrayRef<double> before) {
  int64_t count = costs.size();
  parts = std::min(parts, count);
  SmallVector<double> sums(count + 1, 0), cuts(count + 1, 0);
  // Sums and squares of integers are exact, so that splits into equal runs compare equal for any
  // order of the runs.
  constexpr double units = 1 << 26; // the square of all of them is below 2^53
  const double all = std::accumulate(costs.begin(), costs.end(), 0.0),
               unit = all > 0 ? all / units : 1;
  for (int64_t i = 0; i < count; ++i)
    sums[i + 1] = sums[i] + std::round(costs[i] / unit);
  llvm::copy(before, cuts.begin());
  // best[p][i]: the smallest total when p runs cover the first i costs; start[p][i]: the start of
  // the last run. `extend` adds a run from j to i.
  using Total = std::array<double, 3>;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<std::vector<Total>> best;
  std::vector<std::vector<int64_t>> start(parts + 1, std::vector<int64_t>(count + 1, 0));
  auto search = [&](function_ref<Total(Total, int64_t, int64_t)> extend) {
    best.assign(parts + 1, std::vector<Total>(count + 1, Total{infinity, infinity, infinity}));
    best[0][0] = {0, 0, 0};
    for (int64_t p = 1; p <= parts; ++p)
      for (int64_t i = p; i <= count; ++i)
        for (int64_t j = p - 1; j < i; ++j)
          if (Total all = extend(best[p - 1][j], j, i); all < best[p][i]) {
            best[p][i] = all;
            start[p][i] = j;
          }
  };
  search([&](Total others, int64_t j, int64_t i) -> Total {
    return {std::max(others[0], sums[i] - sums[j]), 0, 0};
  });
  // Among nearly even splits, choose the one that sends the fewest bytes; ties go to the most even
  // split, then to the one whose first runs are short: the first stages end last, and hold the most
  // micro-batches.
  constexpr double slack = 1.05;
  double maximum = slack * best[parts][count][0];
  search([&](Total others, int64_t j, int64_t i) -> Total {
    double cost = sums[i] - sums[j];
    if (cost > maximum)
      return {infinity, infinity, infinity};
    return {others[0] + cuts[j], others[1] + cost * cost, others[2] + sums[j]};
  });
  SmallVector<int64_t> runs(count, 0);
  for (int64_t p = parts, end = count; p > 0; --p) {
    for (int64_t i = start[p][end]; i < end; ++i)
      runs[i] = p - 1;
    end = start[p][end];
  }
  return runs;
}

/// For each piece, the bytes of values that cross a split before it.
static SmallVector<double> boundaryBytes(ArrayRef<Operation *> ops, ArrayRef<int64_t> pieceOf,
                                         int64_t count) {
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
      auto bytes = static_cast<double>(type.getNumElements() * elementBytes(type));
      change[piece + 1] += bytes;
      if (last + 1 < count)
        change[last + 1] -= bytes;
    }
  for (int64_t i = 1; i < count; ++i)
    change[i] += change[i - 1];
  change.pop_back();
  return change;
}

/// If there are too many ops to try all splits, groups ops into runs that stay together. The runs
/// are separated at the best split of each of several equally long stretches.
static SmallVector<int64_t> joinOps(ArrayRef<Operation *> ops, int64_t maximum) {
  auto count = static_cast<int64_t>(ops.size());
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, count));
  if (count <= maximum)
    return all;
  SmallVector<double> cuts = boundaryBytes(ops, all, count);
  SmallVector<int64_t> runOf(count, 0);
  for (int64_t piece = 1; piece < maximum; ++piece) {
    auto from = cuts.begin() + piece * count / maximum,
         to = cuts.begin() + (piece + 1) * count / maximum;
    runOf[std::min_element(from, to) - cuts.begin()] = 1;
  }
  for (int64_t i = 1; i < count; ++i)
    runOf[i] += runOf[i - 1];
  return runOf;
}

/// The index of each op's block among the existing ones, ascending.
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

/// Microseconds of an op on one of the devices that share it, including the sum over devices that
/// it requires. Launch costs are not counted: kernels are not known yet, and the launches of
/// collectives alone would outweigh all work of a small model.
static double timeOf(Operation *op, const MeshAxes &axes) {
  int64_t shards = 1;
  double sums = 0;
  for (Value result : op->getResults()) {
    TensorSharding sharding = axes.read(result);
    int64_t own = 1;
    for (const Splits &splits : sharding.dims)
      own *= shardCount(splits);
    SmallVector<Axis> summed;
    // An op whose operand is an unreduced sum passes it on.
    for (Axis axis : sharding.unreduced)
      if (axis != kMicroAxis && llvm::any_of(op->getOperands(), [&](Value operand) {
            return axes.read(operand).isSplitOver(axis);
          }))
        summed.push_back(axis);
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (type && !summed.empty())
      sums += timeOfBytes("all_reduce",
                          static_cast<double>(type.getNumElements() / own * elementBytes(type)),
                          summed, axes);
    shards = std::max(shards, own * axes.size(summed));
  }
  return axes.costs().op(workInKernel(op)).device / static_cast<double>(shards) + sums;
}

SmallVector<int64_t> mlir::st::splitIntoStages(ArrayRef<Operation *> forward, int64_t stages,
                                               const MeshAxes &axes) {
  constexpr int64_t maxRuns = 500;
  auto countOf = [](ArrayRef<int64_t> pieces) {
    return pieces.empty() ? 0 : *std::max_element(pieces.begin(), pieces.end()) + 1;
  };
  SmallVector<int64_t> pieceOf = piecesOfBlocks(forward);
  // An op without elements counts like an op on a scalar.
  double minimum = 0;
  if (countOf(pieceOf) < stages) {
    pieceOf = joinOps(forward, std::max(maxRuns, stages));
    ::st::proto::OpWork number;
    number.set_flops(1);
    minimum = axes.costs().op(number).device;
  }
  int64_t count = countOf(pieceOf);
  SmallVector<double> costs(count, 0);
  for (auto [op, piece] : llvm::zip_equal(forward, pieceOf))
    costs[piece] += timeOf(op, axes) + minimum;
  SmallVector<int64_t> runs = splitEvenly(costs, stages, boundaryBytes(forward, pieceOf, count));
  SmallVector<int64_t> result;
  for (int64_t piece : pieceOf)
    result.push_back(runs[piece]);
  return result;
}
