// Types and constants of HLO.
#pragma once

#include "lib/Proto/hlo.pb.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::st {

/// Whether a shape is a tuple.
bool isTuple(const ::st::hlo::Shape &shape);

/// The tensor type of a shape that is no tuple; null where there is none.
RankedTensorType typeOfShape(const ::st::hlo::Shape &shape, MLIRContext *context);

/// The elements of a literal; null where they are not as many as its type has, or lie
/// in another order than row-major.
DenseElementsAttr elementsOfLiteral(const ::st::hlo::Literal &literal, MLIRContext *context);

} // namespace mlir::st
