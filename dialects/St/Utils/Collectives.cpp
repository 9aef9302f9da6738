#include "dialects/St/Utils/Collectives.h"
#include "dialects/St/IR/StDialect.h"

using namespace mlir;
using namespace mlir::st;

bool mlir::st::isCollective(Operation *op) {
  return isCombinableCollective(op) || isa<AllToAllOp, CollectivePermuteOp>(op);
}

bool mlir::st::isCombinableCollective(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp>(op);
}
