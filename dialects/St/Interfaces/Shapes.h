// The shape of a value that is known to be a tensor, and its size in memory.
#ifndef ST_INTERFACES_SHAPES_H
#define ST_INTERFACES_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::st {

/// Returns the shape of a ranked tensor.
inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Returns the rank of a ranked tensor; 0 for values of other types.
inline int64_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

/// Returns the bytes of a ranked tensor of integers or floats; an i1 takes one byte.
inline int64_t getNumBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         llvm::divideCeil(tensor.getElementType().getIntOrFloatBitWidth(), 8);
}

} // namespace mlir::st

#endif // ST_INTERFACES_SHAPES_H
