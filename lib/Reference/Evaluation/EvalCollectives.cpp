#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Sharded.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {
namespace {

// The operand on the ranks of one group, in the order of their positions.
SmallVector<Tensor> takeGroup(const RankValues &values, ArrayRef<int64_t> ranks) {
  SmallVector<Tensor> group;
  for (int64_t rank : ranks)
    group.push_back(values[rank]);
  return group;
}

// Evaluates a collective group by group, one tensor at a time. `exchange` gets the operand on the
// ranks of one group and returns the result on each.
template <class Exchange>
Outcome evalGroups(Evaluator &evaluator, Operation &op, ArrayRef<StringRef> axes,
                   Exchange exchange) {
  const RankGrid &grid = evaluator.getGrid();
  if (evaluator.getActiveRanks().size() != evaluator.getNumRanks())
    return toOutcome(op.emitError("this collective is in control flow that only some ranks enter"));
  for (StringRef axis : axes)
    if (!grid.hasAxis(axis))
      return toOutcome(op.emitError("no axis '") << axis << "' in the mesh of this op");
  for (auto [operand, result] : llvm::zip_equal(op.getOperands(), op.getResults())) {
    const RankValues &values = evaluator.get(operand);
    RankValues results(evaluator.getNumRanks());
    for (ArrayRef<int64_t> ranks : grid.getGroups(axes)) {
      SmallVector<Tensor> exchanged = exchange(takeGroup(values, ranks));
      for (auto [rank, tensor] : llvm::zip_equal(ranks, exchanged))
        results[rank] = tensor;
    }
    evaluator.set(result, std::move(results));
  }
  return Outcome::Done;
}

Outcome evalAllReduce(Evaluator &evaluator, Operation &op, ReduceKind kind,
                      ArrayRef<StringRef> axes) {
  return evalGroups(evaluator, op, axes, [&](ArrayRef<Tensor> group) {
    return SmallVector<Tensor>(group.size(), reduceAcross(kind, group));
  });
}

Outcome evalAllGather(Evaluator &evaluator, AllGatherOp op) {
  return evalGroups(evaluator, *op, op.getAxisNames(), [&](ArrayRef<Tensor> group) {
    return SmallVector<Tensor>(group.size(), concatenate(group, static_cast<int64_t>(op.getDim())));
  });
}

Outcome evalReduceScatter(Evaluator &evaluator, ReduceScatterOp op) {
  return evalGroups(evaluator, *op, op.getAxisNames(), [&](ArrayRef<Tensor> group) {
    Tensor sum = reduceAcross(op.getKind(), group);
    SmallVector<Tensor> parts;
    for (size_t i = 0; i < group.size(); ++i)
      parts.push_back(equalPart(sum, static_cast<int64_t>(op.getDim()), i, group.size()));
    return parts;
  });
}

Outcome evalAllToAll(Evaluator &evaluator, AllToAllOp op) {
  return evalGroups(evaluator, *op, op.getAxisNames(), [&](ArrayRef<Tensor> group) {
    SmallVector<Tensor> results;
    for (size_t to = 0; to < group.size(); ++to) {
      SmallVector<Tensor> parts;
      for (const Tensor &from : group)
        parts.push_back(equalPart(from, static_cast<int64_t>(op.getSplitDim()), to, group.size()));
      results.push_back(concatenate(parts, static_cast<int64_t>(op.getConcatDim())));
    }
    return results;
  });
}

Outcome evalAllSlice(Evaluator &evaluator, AllSliceOp op) {
  return evalGroups(evaluator, *op, op.getAxisNames(), [&](ArrayRef<Tensor> group) {
    SmallVector<Tensor> parts;
    for (auto [i, tensor] : llvm::enumerate(group))
      parts.push_back(equalPart(tensor, static_cast<int64_t>(op.getDim()), i, group.size()));
    return parts;
  });
}

// A rank that no pair names as target gets zeros.
Outcome evalCollectivePermute(Evaluator &evaluator, CollectivePermuteOp op) {
  return evalGroups(evaluator, *op, op.getAxisNames(), [&](ArrayRef<Tensor> group) {
    Tensor zero = convert(Tensor::scalar<int64_t>(ElementType::I64, 0), group[0].getType());
    SmallVector<Tensor> results(group.size(), splat(zero, group[0].getShape()));
    for (size_t i = 0; i + 1 < op.getPairs().size(); i += 2)
      results[op.getPairs()[i + 1]] = group[op.getPairs()[i]];
    return results;
  });
}

Outcome evalAxisIndex(Evaluator &evaluator, AxisIndexOp op) {
  const RankGrid &grid = evaluator.getGrid();
  bool isTask = op.getAxis() == MeshOp::kMicro && !grid.hasAxis(op.getAxis());
  if (!isTask && !grid.hasAxis(op.getAxis()))
    return toOutcome(op.emitError("no axis '") << op.getAxis() << "' in the mesh of this op");
  RankValues results(evaluator.getNumRanks());
  for (int64_t rank : evaluator.getActiveRanks()) {
    int64_t index = isTask ? evaluator.getMicroBatch()
                           : (grid.getCoordinate(rank, op.getAxis()) + op.getShift()) %
                                 grid.getSize({op.getAxis()});
    results[rank] = Tensor::scalar(ElementType::I32, static_cast<int32_t>(index));
  }
  evaluator.set(op.getResult(), std::move(results));
  return Outcome::Done;
}

} // namespace

Outcome evalCollective(Evaluator &evaluator, Operation &op) {
  return llvm::TypeSwitch<Operation *, Outcome>(&op)
      .Case<AllReduceOp>([&](AllReduceOp op) {
        return evalAllReduce(evaluator, *op, op.getKind(), op.getAxisNames());
      })
      .Case<AccumulateOp>([&](AccumulateOp op) {
        return evalAllReduce(evaluator, *op, op.getKind(), StringRef(MeshOp::kMicro));
      })
      .Case<AllGatherOp>([&](AllGatherOp op) { return evalAllGather(evaluator, op); })
      .Case<ReduceScatterOp>([&](ReduceScatterOp op) { return evalReduceScatter(evaluator, op); })
      .Case<AllToAllOp>([&](AllToAllOp op) { return evalAllToAll(evaluator, op); })
      .Case<AllSliceOp>([&](AllSliceOp op) { return evalAllSlice(evaluator, op); })
      .Case<CollectivePermuteOp>(
          [&](CollectivePermuteOp op) { return evalCollectivePermute(evaluator, op); })
      .Case<AxisIndexOp>([&](AxisIndexOp op) { return evalAxisIndex(evaluator, op); })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
