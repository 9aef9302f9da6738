// Conversion between MLIR's types and attributes and the interpreter's tensors.
#ifndef ST_REFERENCE_TENSORTYPES_H
#define ST_REFERENCE_TENSORTYPES_H

#include "lib/Reference/Tensor.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace mlir::st::ref {

/// The element type that stores values of an MLIR scalar type; std::nullopt for unsupported types
/// (8-bit floats, ...).
std::optional<ElementType> getElementType(Type type);

/// The element type of a ranked tensor type with a static shape that fits in memory; std::nullopt
/// for other types.
std::optional<ElementType> getTensorElementType(Type type);

/// Returns true if `tensor` is a value of this MLIR type.
bool isOfType(const Tensor &tensor, Type type);

/// Text such as "F32[2,3]", for messages.
std::string toString(const Tensor &tensor);
std::string toString(ElementType type, ArrayRef<int64_t> shape);

/// The value of a constant; no tensor if the attribute is of another kind.
Tensor fromAttribute(ElementsAttr attribute);

/// The inverse; integers are signed or unsigned by their element type.
ElementsAttr toAttribute(const Tensor &tensor, MLIRContext *context);

/// A scalar tensor of any integer type as a number; values beyond int64_t become its maximum.
int64_t toInteger(const Tensor &scalar);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_TENSORTYPES_H
