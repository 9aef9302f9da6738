#include "lib/Driver/Planning/WorkValues.h"

#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Utils/Collectives.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::st;
namespace proto = ::st::proto;

int64_t mlir::st::elementsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getNumElements() : 0;
}

bool mlir::st::isOperandView(Operation *op) {
  return isa_and_present<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp, stablehlo::ConvertOp>(
      op);
}

bool mlir::st::isFree(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() || isOperandView(op) ||
         isa<stablehlo::IotaOp, AxisIndexOp, ReadOp, WriteOp, SendOp, RecvOp>(op);
}

bool mlir::st::isIndependent(Operation *op) {
  return isa<stablehlo::DotGeneralOp, KernelOp>(op) || isCollective(op);
}

Value mlir::st::throughViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isOperandView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

proto::ElementType mlir::st::protoType(Type type) {
  if (type.isBF16())
    return proto::BF16;
  if (type.isF16())
    return proto::F16;
  if (type.isF64())
    return proto::F64;
  return type.isInteger() ? proto::I32 : proto::F32;
}

int64_t mlir::st::widthOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrFloat() ? llvm::divideCeil(element.getIntOrFloatBitWidth(), 8) : 0;
}
