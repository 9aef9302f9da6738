//===- StableHLOTraits.cpp - Traits of stablehlo ops ----------------------===//

#include "dialects/StableHLO/StableHLOTraits.h"
#include "dialects/St/Interfaces/Notes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::stablehlo;

/// Returns true if `type`, or a type inside a tuple, has a dynamic dimension.
static bool isDynamic(Type type) {
  if (auto tuple = dyn_cast<TupleType>(type))
    return llvm::any_of(tuple.getTypes(), isDynamic);
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && !shaped.hasStaticShape();
}

/// Returns true if the number of a tensor's elements does not overflow, which later computations
/// rely on.
static bool isCountable(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  std::optional<int64_t> count = 1;
  for (int64_t size : shaped ? shaped.getShape() : ArrayRef<int64_t>())
    count = count ? llvm::checkedMul(*count, size) : std::nullopt;
  return count.has_value();
}

/// The types of all operands, then of all results.
static SmallVector<Type> allTypes(Operation *op) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  return types;
}

LogicalResult traits::detail::verifyStaticShapes(Operation *op) {
  for (Type type : allTypes(op)) {
    if (isDynamic(type))
      return op->emitOpError("dynamic shapes are not supported: ") << type;
    if (!isCountable(type))
      return op->emitOpError("has a tensor of more elements than 64 bits can count: ") << type;
  }
  return success();
}

LogicalResult traits::detail::verifyInferredTypes(Operation *op) {
  auto inference = dyn_cast<InferTypeOpInterface>(op);
  if (!inference)
    return success();
  SmallVector<Type> types;
  if (failed(inference.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                        op->getRawDictionaryAttrs(), op->getPropertiesStorage(),
                                        op->getRegions(), types)))
    return failure();
  if (op->getResultTypes() != types)
    return op->emitOpError("expects results of type (")
           << types << "), got (" << op->getResultTypes() << ")";
  return success();
}

/// The operand at which an error about type i points: operand i, or the first operand if the type
/// is a result's.
static Value operandAt(Operation *op, size_t i) {
  return op->getOperand(i < op->getNumOperands() ? i : 0);
}

LogicalResult traits::detail::verifySameTypes(Operation *op) {
  SmallVector<Type> types = allTypes(op);
  for (auto [i, type] : llvm::enumerate(types))
    if (type != types.front())
      return mlir::st::withNote(
          op->emitOpError("expects one type for all operands and results, got ")
              << types.front() << " and " << type,
          operandAt(op, i), "an operand is defined here");
  return success();
}

LogicalResult traits::detail::verifySameShapes(Operation *op) {
  SmallVector<Type> types = allTypes(op);
  for (auto [i, type] : llvm::enumerate(types))
    if (cast<ShapedType>(type).getShape() != cast<ShapedType>(types.front()).getShape())
      return mlir::st::withNote(
          op->emitOpError("expects one shape for all operands and results, got ")
              << types.front() << " and " << type,
          operandAt(op, i), "an operand is defined here");
  return success();
}
