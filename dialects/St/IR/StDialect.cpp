#include "dialects/St/IR/StDialect.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::st;

#include "dialects/St/IR/StDialect.cpp.inc"

void StDialect::initialize() {
  registerStAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/St/IR/StOps.cpp.inc"
      >();
}

LogicalResult StDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kShardingAttr)
    return success();
  if (auto sharding = dyn_cast<ShardingAttr>(attribute.getValue()))
    return op->getNumResults() == 1
               ? verifyShardingFits(sharding, op->getResult(0).getType(), op)
               : op->emitOpError("has a single st.sharding but ") << op->getNumResults() << " results";
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!list || list.size() != op->getNumResults())
    return op->emitOpError("expects st.sharding to be one #st.sharding a result");
  for (auto [element, result] : llvm::zip_equal(list, op->getResults())) {
    auto sharding = dyn_cast<ShardingAttr>(element);
    if (!sharding)
      return op->emitOpError("expects st.sharding to be one #st.sharding a result");
    if (failed(verifyShardingFits(sharding, result.getType(), op)))
      return failure();
  }
  return success();
}
