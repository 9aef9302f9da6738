//===- ChloOps.cpp - The chlo dialect -------------------------------------===//

#include "dialects/StableHLO/ChloOps.h"

#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::chlo;

#include "dialects/StableHLO/ChloDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/StableHLO/ChloOps.cpp.inc"

namespace {

struct ChloInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};

} // namespace

void ChloDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/StableHLO/ChloOps.cpp.inc"
      >();
  addInterfaces<ChloInlinerInterface>();
  stablehlo::attachChloShardingRules(getContext());
}

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto operand = cast<RankedTensorType>(adaptor.getOperand().getType());
  if (operand.getRank() == 0)
    return emitOptionalError(location, "chlo.top_k expects an operand of rank 1 or more, got ",
                             operand);
  SmallVector<int64_t> shape(operand.getShape());
  if (shape.back() < static_cast<int64_t>(adaptor.getK()))
    return emitOptionalError(location, "chlo.top_k expects k = ", adaptor.getK(),
                             " to be at most the last dimension of ", operand);
  shape.back() = adaptor.getK();
  types.push_back(operand.clone(shape));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 32)));
  return success();
}
