#include "passes/Import/OneDevice.h"

#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Replaces a device's number, which is 0.
static void replaceNumber(Operation *op) {
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Attribute zero = builder.getZeroAttr(type.getElementType());
  op->getResult(0).replaceAllUsesWith(
      ConstantOp::create(builder, op->getLoc(), type, DenseElementsAttr::get(type, zero)));
  op->erase();
}

/// Returns true if a device communicates with no other device.
static bool isAlone(Operation *op) {
  if (auto permute = dyn_cast<CollectivePermuteOp>(op)) {
    auto pairs = llvm::to_vector(permute.getSourceTargetPairs().getValues<int64_t>());
    return pairs.size() == 2 && pairs[0] == pairs[1];
  }
  if (!isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, CollectiveBroadcastOp>(op))
    return false;
  auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  return groups && groups.getType().getRank() == 2 && groups.getType().getDimSize(1) == 1 &&
         TypeRange(op->getOperandTypes()) == TypeRange(op->getResultTypes());
}

static bool isForOneDevice(ModuleOp module) {
  return llvm::all_of(ArrayRef<StringRef>{"mhlo.num_partitions", "mhlo.num_replicas"},
                      [&](StringRef name) {
                        auto count = module->getAttrOfType<IntegerAttr>(name);
                        return !count || count.getInt() == 1;
                      });
}

void mlir::st::removeCollectivesOfOneDevice(ModuleOp module) {
  const bool isOnly = isForOneDevice(module);
  module.walk([&](Operation *op) {
    if (isOnly && isa<PartitionIdOp, ReplicaIdOp>(op)) {
      replaceNumber(op);
    } else if (isAlone(op)) {
      op->replaceAllUsesWith(op->getOperands());
      op->erase();
    }
  });
}
