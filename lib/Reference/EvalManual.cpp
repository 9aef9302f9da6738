// Computations on shards: every rank runs the body on its part of each operand.
#include "dialects/Sdy/SdyDialect.h"
#include "lib/Reference/OpHandlers.h"
#include "lib/Reference/Sharded.h"

namespace mlir::st::ref {
namespace {

/// The axes of a sharding that the body sees as split.
ShardingAttr manualPart(sdy::ManualComputationOp op, sdy::TensorShardingAttr sharding) {
  SmallVector<ArrayAttr> dims;
  for (ArrayAttr dim : sharding.getDims()) {
    SmallVector<Attribute> axes(dim.begin(), dim.end());
    llvm::erase_if(axes, [&](Attribute axis) {
      return !llvm::is_contained(op.getManualAxes().getAxes(), axis);
    });
    dims.push_back(ArrayAttr::get(op.getContext(), axes));
  }
  return ShardingAttr::get(op.getContext(), sharding.getMesh(), dims);
}

/// The ranks along the axes of the mesh that the op's shardings name.
FailureOr<RankGrid> gridOf(sdy::ManualComputationOp op, int64_t ranks) {
  for (auto shardings : {op.getInShardings(), op.getOutShardings()})
    for (sdy::TensorShardingAttr sharding : shardings.getShardings()) {
      auto mesh = SymbolTable::lookupNearestSymbolFrom<sdy::MeshOp>(op, sharding.getMesh());
      if (!mesh)
        return op.emitError("names mesh ") << sharding.getMesh() << ", which there is not";
      RankGrid grid = RankGrid::ofAxes(mesh.getMesh().getAxes(), mesh.getMesh().getSizes());
      if (grid.getNumRanks() != ranks)
        return op.emitError("runs on ")
               << grid.getNumRanks() << " devices of its mesh, but " << ranks << " run the program";
      return grid;
    }
  return RankGrid();
}

LogicalResult evalManualComputation(Evaluator &evaluator, sdy::ManualComputationOp op) {
  auto ranks = static_cast<int64_t>(evaluator.getNumRanks());
  if (static_cast<int64_t>(evaluator.getActiveRanks().size()) != ranks)
    return op.emitError("a computation on shards in control flow that only some ranks enter");
  op.getContext()->loadDialect<StDialect>();
  FailureOr<RankGrid> grid = gridOf(op, ranks);
  if (failed(grid))
    return failure();
  SmallVector<RankValues> parts, results;
  for (auto [input, sharding] :
       llvm::zip_equal(op.getInputs(), op.getInShardings().getShardings())) {
    const RankValues &whole = evaluator.get(input);
    for (const Tensor &tensor : whole)
      if (!tensor.isSameAs(whole.front()) && !tensor.bitwiseEquals(whole.front()))
        return op.emitError("an operand differs between ranks");
    if (failed(shard(whole.front(), manualPart(op, sharding), *grid, op, parts.emplace_back())))
      return failure();
  }
  if (failed(evaluator.evalBlock(op.getBody().front(), parts, results)))
    return failure();
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    Tensor whole;
    if (failed(unshard(results[i], manualPart(op, op.getOutShardings().getShardings()[i]), *grid,
                       op, "result " + Twine(i), whole)))
      return failure();
    evaluator.set(result, RankValues(ranks, whole));
  }
  return success();
}

} // namespace

Outcome evalManual(Evaluator &evaluator, Operation &op) {
  auto manual = dyn_cast<sdy::ManualComputationOp>(op);
  return manual ? toOutcome(evalManualComputation(evaluator, manual)) : Outcome::Unknown;
}

} // namespace mlir::st::ref
