//===- StableHLODialect.cpp - The stablehlo dialect -----------------------===//

#include "dialects/StableHLO/StableHLODialect.h"

#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;

#include "dialects/StableHLO/StableHLODialect.cpp.inc"

namespace {

/// Any op may be inlined anywhere: none depends on its position.
struct StableHLOInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *call, Operation *callable, bool wouldBeCloned) const final {
    return true;
  }
  bool isLegalToInline(Region *dest, Region *src, bool wouldBeCloned, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *op, Region *dest, bool wouldBeCloned, IRMapping &) const final {
    return true;
  }
};

} // namespace

void StableHLODialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/StableHLO/StableHLOOps.cpp.inc"
      >();
  registerAttributes();
  addDialectInterfaces();
}

void StableHLODialect::addDialectInterfaces() {
  addInterfaces<StableHLOInlinerInterface>();
  attachElementwiseShardingRules(getContext());
  attachShapeShardingRules(getContext());
  attachPieceShardingRules(getContext());
  attachReductionShardingRules(getContext());
  attachIndexingShardingRules(getContext());
  attachWindowShardingRules(getContext());
  attachLinearAlgebraShardingRules(getContext());
  attachLoopShardingRules(getContext());
}

Operation *StableHLODialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                                 Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}
