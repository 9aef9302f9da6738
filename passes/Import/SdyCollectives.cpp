#include "passes/Import/SdyCollectives.h"

#include "dialects/Sdy/SdyDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;

void mlir::st::importSdyCollectives(ModuleOp module) {
  module.walk([](Operation *op) {
    OpBuilder builder(op);
    Operation *replacement = nullptr;
    if (auto constant = dyn_cast<sdy::ConstantOp>(op))
      replacement = stablehlo::ConstantOp::create(builder, op->getLoc(), constant.getValue());
    else if (isa<sdy::AllGatherOp, sdy::AllReduceOp, sdy::AllSliceOp, sdy::AllToAllOp,
                 sdy::CollectivePermuteOp, sdy::ReduceScatterOp, sdy::ReplicatedToUnreducedOp,
                 sdy::ShardedToUnreducedOp>(op))
      replacement = sdy::ShardingConstraintOp::create(
          builder, op->getLoc(), op->getResult(0).getType(), op->getOperand(0),
          op->getAttrOfType<sdy::TensorShardingAttr>("out_sharding"));
    if (!replacement)
      return;
    op->replaceAllUsesWith(replacement);
    op->erase();
  });
}
