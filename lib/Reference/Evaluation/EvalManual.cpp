// Computations on shards: every rank runs the body on its part of each operand.
#include "dialects/Sdy/SdyDialect.h"
#include "dialects/St/Interfaces/Notes.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
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
        return op.emitError("names mesh ") << sharding.getMesh() << ", which does not exist";
      RankGrid grid = RankGrid::ofAxes(mesh.getMesh().getAxes(), mesh.getMesh().getSizes());
      if (grid.getNumRanks() != ranks)
        return withNote(op.emitError("runs on ")
                            << grid.getNumRanks() << " devices of its mesh, but " << ranks
                            << " run the program",
                        mesh, "the mesh is here");
      return grid;
    }
  return RankGrid();
}

/// Gives each rank its part of a value that all ranks of its group hold.
LogicalResult split(sdy::ManualComputationOp op, const RankValues &globals, ShardingAttr sharding,
                    const RankGrid &grid, ArrayRef<SmallVector<int64_t>> groups,
                    RankValues &parts) {
  parts.resize(globals.size());
  for (ArrayRef<int64_t> group : groups) {
    const Tensor &global = globals[group.front()];
    RankValues own;
    for (int64_t rank : group)
      if (!globals[rank].isSameAs(global) && !globals[rank].bitwiseEquals(global))
        return op.emitError("an operand differs between ranks");
    if (failed(shard(global, sharding, grid, op, own)))
      return failure();
    for (int64_t rank : group)
      parts[rank] = own[rank];
  }
  return success();
}

/// Joins the parts of the ranks of each group.
LogicalResult join(sdy::ManualComputationOp op, const RankValues &parts, ShardingAttr sharding,
                   const RankGrid &grid, ArrayRef<SmallVector<int64_t>> groups, size_t number,
                   RankValues &globals) {
  globals.resize(parts.size());
  for (ArrayRef<int64_t> group : groups) {
    // Treats all groups as if they had the parts of this group.
    RankValues replicated(parts.size());
    for (ArrayRef<int64_t> other : groups)
      for (auto [rank, from] : llvm::zip_equal(other, group))
        replicated[rank] = parts[from];
    Tensor global;
    if (failed(unshard(replicated, sharding, grid, op, "result " + Twine(number), global)))
      return failure();
    for (int64_t rank : group)
      globals[rank] = global;
  }
  return success();
}

LogicalResult evalManualComputation(Evaluator &evaluator, sdy::ManualComputationOp op) {
  auto ranks = static_cast<int64_t>(evaluator.getNumRanks());
  if (static_cast<int64_t>(evaluator.getActiveRanks().size()) != ranks)
    return op.emitError("this computation on shards is in control flow that only some ranks enter");
  op.getContext()->loadDialect<StDialect>();
  FailureOr<RankGrid> grid = gridOf(op, ranks);
  if (failed(grid))
    return failure();
  // Along other axes the global tensors may differ, because a surrounding computation may be manual
  // over those axes.
  SmallVector<StringRef> axes;
  for (StringAttr axis : op.getManualAxes().getAxes())
    if (grid->hasAxis(axis.getValue()))
      axes.push_back(axis.getValue());
  SmallVector<SmallVector<int64_t>> groups = grid->getGroups(axes);
  SmallVector<RankValues> parts, results;
  for (auto [input, sharding] : llvm::zip_equal(op.getInputs(), op.getInShardings().getShardings()))
    if (failed(split(op, evaluator.get(input), manualPart(op, sharding), *grid, groups,
                     parts.emplace_back())))
      return failure();
  if (failed(evaluator.evalBlock(op.getBody().front(), parts, results)))
    return failure();
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    RankValues globals;
    if (failed(join(op, results[i], manualPart(op, op.getOutShardings().getShardings()[i]), *grid,
                    groups, i, globals)))
      return failure();
    evaluator.set(result, std::move(globals));
  }
  return success();
}

} // namespace

Outcome evalManual(Evaluator &evaluator, Operation &op) {
  auto manual = dyn_cast<sdy::ManualComputationOp>(op);
  return manual ? toOutcome(evalManualComputation(evaluator, manual)) : Outcome::Unknown;
}

} // namespace mlir::st::ref
