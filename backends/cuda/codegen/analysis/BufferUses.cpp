#include "backends/cuda/codegen/analysis/BufferUses.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

bool mlir::cuda::isOnlyRead(Value buffer) {
  return llvm::all_of(buffer.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<memref::LoadOp, vector::LoadOp, vector::TransferReadOp>(user))
      return true;
    if (auto choice = dyn_cast<scf::IfOp>(user->getParentOp()); choice && isa<scf::YieldOp>(user))
      return isOnlyRead(choice.getResult(use.getOperandNumber()));
    return isa<ViewLikeOpInterface>(user) && user->getNumResults() == 1 &&
           isOnlyRead(user->getResult(0));
  });
}
