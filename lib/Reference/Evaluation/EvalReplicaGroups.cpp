// Collectives of stablehlo, which name ranks by number. A rank is one partition of one replica:
// rank = replica * partitions + partition.
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Evaluation/RegionComputation.h"
#include "lib/Reference/Numerics/DataMovement.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {
namespace {

namespace hlo = stablehlo;

/// The meaning of the numbers in a list of groups.
enum class GroupsOf {
  /// Replicas: a group for every partition.
  Replicas,
  /// Replicas, with all partitions of each in one group.
  ReplicasWithPartitions,
  /// Partitions: a group for every replica.
  Partitions,
  Ranks,
};

class RankGroups {
public:
  RankGroups(Evaluator &evaluator, Operation &op) : grid(evaluator.getGrid()), op(op) {
    if (grid.hasAxis(RankGrid::kPartition))
      partitions = grid.getSize(RankGrid::kPartition);
    replicas = grid.getNumRanks() / partitions;
  }

  int64_t getNumRanks() const { return grid.getNumRanks(); }

  /// The ranks of each group, in the order of their positions.
  LogicalResult get(GroupsOf kind, DenseIntElementsAttr lists,
                    SmallVectorImpl<SmallVector<int64_t>> &groups) const;

  /// The number of groups that a list represents: one, or one per position in the other dimension.
  int64_t getRepetitions(GroupsOf kind) const {
    return kind == GroupsOf::Replicas ? partitions : kind == GroupsOf::Partitions ? replicas : 1;
  }

  int64_t getCount(GroupsOf kind) const {
    return kind == GroupsOf::Ranks        ? getNumRanks()
           : kind == GroupsOf::Partitions ? partitions
                                          : replicas;
  }

  LogicalResult checkMember(GroupsOf kind, int64_t member) const {
    if (member < getCount(kind))
      return success();
    return op.emitError("names member ")
           << member << " of a group, but there are " << getCount(kind);
  }

  /// The rank that `member` is in repetition `other`.
  int64_t getRank(GroupsOf kind, int64_t member, int64_t other) const {
    if (kind == GroupsOf::Replicas)
      return member * partitions + other;
    return kind == GroupsOf::Partitions ? other * partitions + member : member;
  }

private:
  const RankGrid &grid;
  Operation &op;
  int64_t partitions = 1, replicas = 1;
};

LogicalResult RankGroups::get(GroupsOf kind, DenseIntElementsAttr lists,
                              SmallVectorImpl<SmallVector<int64_t>> &groups) const {
  SmallVector<SmallVector<int64_t>> members;
  int64_t width = lists.getType().getDimSize(1);
  for (auto [i, member] : llvm::enumerate(lists.getValues<int64_t>())) {
    if (static_cast<int64_t>(i) % width == 0)
      members.emplace_back();
    // padding of a smaller group
    if (member < 0)
      continue;
    if (failed(checkMember(kind, member)))
      return failure();
    members.back().push_back(member);
  }
  // No group means one group of all.
  if (members.empty())
    members.push_back(llvm::to_vector(llvm::seq<int64_t>(0, getCount(kind))));
  for (ArrayRef<int64_t> list : members)
    for (int64_t other = 0; other < getRepetitions(kind); ++other) {
      SmallVector<int64_t> &group = groups.emplace_back();
      for (int64_t member : list)
        if (kind == GroupsOf::ReplicasWithPartitions)
          for (int64_t partition = 0; partition < partitions; ++partition)
            group.push_back(member * partitions + partition);
        else
          group.push_back(getRank(kind, member, other));
    }
  return success();
}

/// The groups of an op that reduces or gathers, according to its attributes.
template <class OpTy> GroupsOf kindOfReduction(OpTy op) {
  if (!op.getChannelHandle())
    return GroupsOf::Replicas;
  return op.getUseGlobalDeviceIds() ? GroupsOf::Ranks : GroupsOf::ReplicasWithPartitions;
}

/// The groups of an op that exchanges data.
template <class OpTy> GroupsOf kindOfExchange(OpTy op) {
  return op.getChannelHandle() ? GroupsOf::Partitions : GroupsOf::Replicas;
}

using Tensors = SmallVector<Tensor>;

/// Evaluates a collective group by group and operand by operand. `exchange` gets
/// the operand on the ranks of one group and leaves the result on each; false
/// means that it failed.
template <class Exchange>
Outcome evalGroups(Evaluator &evaluator, Operation &op, GroupsOf kind, DenseIntElementsAttr lists,
                   Exchange exchange) {
  if (evaluator.getActiveRanks().size() != evaluator.getNumRanks())
    return toOutcome(op.emitError("this collective is in control flow that only some ranks enter"));
  SmallVector<SmallVector<int64_t>> groups;
  if (failed(RankGroups(evaluator, op).get(kind, lists, groups)))
    return Outcome::Failed;
  for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults())) {
    const RankValues &values = evaluator.get(operand);
    RankValues results(evaluator.getNumRanks());
    for (ArrayRef<int64_t> ranks : groups) {
      Tensors group, exchanged;
      for (int64_t rank : ranks)
        group.push_back(values[rank]);
      if (!exchange(group, exchanged))
        return Outcome::Failed;
      for (auto [rank, tensor] : llvm::zip_equal(ranks, exchanged))
        results[rank] = tensor;
    }
    for (auto [rank, tensor] : llvm::enumerate(results))
      if (!tensor)
        return toOutcome(op.emitError("rank ") << rank << " is in no group");
    evaluator.set(result, std::move(results));
  }
  return Outcome::Done;
}

/// Combines the tensors in their order.
bool reduceGroup(const ScalarComputation &body, ArrayRef<Tensor> group, Tensor &result) {
  ElementType type = group[0].getType(), wide = accumulatorType(body, type);
  Tensor sum = convert(group[0], wide);
  for (const Tensor &tensor : group.drop_front()) {
    SmallVector<Tensor, 1> combined;
    if (!body.apply({sum, convert(tensor, wide)}, combined))
      return false;
    sum = combined[0];
  }
  result = convert(sum, type);
  return true;
}

Outcome evalAllReduce(Evaluator &evaluator, hlo::AllReduceOp op) {
  RegionComputation body(evaluator, 0, op.getComputation());
  return evalGroups(evaluator, *op, kindOfReduction(op), op.getReplicaGroups(),
                    [&](ArrayRef<Tensor> group, Tensors &results) {
                      Tensor sum;
                      if (group.empty() || !reduceGroup(body, group, sum))
                        return group.empty();
                      results.assign(group.size(), sum);
                      return true;
                    });
}

Outcome evalReduceScatter(Evaluator &evaluator, hlo::ReduceScatterOp op) {
  RegionComputation body(evaluator, 0, op.getComputation());
  auto dim = static_cast<int64_t>(op.getScatterDimension());
  return evalGroups(evaluator, *op, kindOfReduction(op), op.getReplicaGroups(),
                    [&](ArrayRef<Tensor> group, Tensors &results) {
                      Tensor sum;
                      if (group.empty() || !reduceGroup(body, group, sum))
                        return group.empty();
                      for (size_t i = 0; i < group.size(); ++i)
                        results.push_back(equalPart(sum, dim, i, group.size()));
                      return true;
                    });
}

Outcome evalAllGather(Evaluator &evaluator, hlo::AllGatherOp op) {
  return evalGroups(evaluator, *op, kindOfReduction(op), op.getReplicaGroups(),
                    [&](ArrayRef<Tensor> group, Tensors &results) {
                      if (!group.empty())
                        results.assign(group.size(), concatenate(group, static_cast<int64_t>(
                                                                            op.getAllGatherDim())));
                      return true;
                    });
}

Outcome evalAllToAll(Evaluator &evaluator, hlo::AllToAllOp op) {
  auto split = static_cast<int64_t>(op.getSplitDimension());
  auto concat = static_cast<int64_t>(op.getConcatDimension());
  return evalGroups(evaluator, *op, kindOfExchange(op), op.getReplicaGroups(),
                    [&](ArrayRef<Tensor> group, Tensors &results) {
                      for (size_t to = 0; to < group.size(); ++to) {
                        Tensors parts;
                        for (const Tensor &from : group)
                          parts.push_back(equalPart(from, split, to, group.size()));
                        results.push_back(concatenate(parts, concat));
                      }
                      return true;
                    });
}

/// Moves values between ranks; a rank that receives nothing gets zeros.
Outcome evalMoves(Evaluator &evaluator, Operation &op,
                  ArrayRef<std::pair<int64_t, int64_t>> moves) {
  if (evaluator.getActiveRanks().size() != evaluator.getNumRanks())
    return toOutcome(op.emitError("this collective is in control flow that only some ranks enter"));
  const RankValues &values = evaluator.get(op.getOperand(0));
  Tensor zero = convert(Tensor::scalar<int64_t>(ElementType::I64, 0), values[0].getType());
  RankValues results(evaluator.getNumRanks(), splat(zero, values[0].getShape()));
  for (auto [from, to] : moves)
    results[to] = values[from];
  evaluator.set(op.getResult(0), std::move(results));
  return Outcome::Done;
}

Outcome evalPermute(Evaluator &evaluator, hlo::CollectivePermuteOp op) {
  GroupsOf kind = kindOfExchange(op);
  RankGroups ranks(evaluator, *op);
  auto pairs = llvm::to_vector(op.getSourceTargetPairs().getValues<int64_t>());
  SmallVector<std::pair<int64_t, int64_t>> moves;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (failed(ranks.checkMember(kind, pairs[i])) || failed(ranks.checkMember(kind, pairs[i + 1])))
      return Outcome::Failed;
    for (int64_t other = 0; other < ranks.getRepetitions(kind); ++other)
      moves.emplace_back(ranks.getRank(kind, pairs[i], other),
                         ranks.getRank(kind, pairs[i + 1], other));
  }
  return evalMoves(evaluator, *op, moves);
}

Outcome evalBroadcast(Evaluator &evaluator, hlo::CollectiveBroadcastOp op) {
  SmallVector<SmallVector<int64_t>> groups;
  if (failed(RankGroups(evaluator, *op).get(kindOfExchange(op), op.getReplicaGroups(), groups)))
    return Outcome::Failed;
  SmallVector<std::pair<int64_t, int64_t>> moves;
  for (ArrayRef<int64_t> group : groups)
    for (int64_t rank : group)
      moves.emplace_back(group.front(), rank);
  return evalMoves(evaluator, *op, moves);
}

Outcome evalId(Evaluator &evaluator, Operation &op, StringRef axis) {
  const RankGrid &grid = evaluator.getGrid();
  RankValues results(evaluator.getNumRanks());
  for (int64_t rank : evaluator.getActiveRanks()) {
    int64_t id = grid.hasAxis(axis) ? grid.getCoordinate(rank, axis) : 0;
    results[rank] = Tensor::scalar(ElementType::U32, static_cast<uint32_t>(id));
  }
  evaluator.set(op.getResult(0), std::move(results));
  return Outcome::Done;
}

} // namespace

Outcome evalReplicaGroups(Evaluator &evaluator, Operation &op) {
  return llvm::TypeSwitch<Operation *, Outcome>(&op)
      .Case<hlo::AllReduceOp>([&](auto op) { return evalAllReduce(evaluator, op); })
      .Case<hlo::AllGatherOp>([&](auto op) { return evalAllGather(evaluator, op); })
      .Case<hlo::ReduceScatterOp>([&](auto op) { return evalReduceScatter(evaluator, op); })
      .Case<hlo::AllToAllOp>([&](auto op) { return evalAllToAll(evaluator, op); })
      .Case<hlo::CollectivePermuteOp>([&](auto op) { return evalPermute(evaluator, op); })
      .Case<hlo::CollectiveBroadcastOp>([&](auto op) { return evalBroadcast(evaluator, op); })
      .Case<hlo::ReplicaIdOp>([&](auto op) { return evalId(evaluator, *op, RankGrid::kReplica); })
      .Case<hlo::PartitionIdOp>(
          [&](auto op) { return evalId(evaluator, *op, RankGrid::kPartition); })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
