// Types and constants of HLO.
#pragma once

#include "lib/Proto/hlo.pb.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::st {

/// Element types by their numbers in XLA's PrimitiveType.
enum class HloElement : int32_t {
  Pred = 1,
  S8 = 2,
  S16 = 3,
  S32 = 4,
  S64 = 5,
  U8 = 6,
  U16 = 7,
  U32 = 8,
  U64 = 9,
  F16 = 10,
  F32 = 11,
  F64 = 12,
  Tuple = 13,
  Opaque = 14,
  C64 = 15,
  BF16 = 16,
  Token = 17,
  C128 = 18,
  F8E5M2 = 19,
  F8E4M3FN = 20,
  S4 = 21,
  U4 = 22,
  F8E4M3B11FNUZ = 23,
  F8E5M2FNUZ = 24,
  F8E4M3FNUZ = 25,
  F8E4M3 = 28,
  F8E3M4 = 29,
};

/// The element type of a name in HLO text, such as `f32`.
std::optional<HloElement> elementNamed(StringRef name);

/// Returns true if a shape is a tuple.
bool isTuple(const ::st::hlo::Shape &shape);

/// The tensor type of a shape that is not a tuple; null if there is none.
RankedTensorType typeOfShape(const ::st::hlo::Shape &shape, MLIRContext *context);

/// The shape's dimensions from major to minor in memory; empty if its layout is invalid.
SmallVector<int64_t> majorToMinor(const ::st::hlo::Shape &shape);

/// Returns true if elements are in row-major order.
bool isRowMajor(const ::st::hlo::Shape &shape);

/// The elements of a literal; null if their number differs from the type's, or if they are not in
/// row-major order.
DenseElementsAttr elementsOfLiteral(const ::st::hlo::Literal &literal, MLIRContext *context);

} // namespace mlir::st
