//===- ConstantFolding.cpp - Elementwise arithmetic on constants ----------===//

#include "dialects/StableHLO/Folding/ConstantFolding.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace mlir::stablehlo;

bool stablehlo::isUnsigned(Type type) { return type.isUnsignedInteger() || type.isInteger(1); }

/// Returns true if a result of `elements` may be folded from `operands`.
static bool isFoldable(ArrayRef<DenseElementsAttr> operands) {
  return llvm::all_of(operands, [](DenseElementsAttr each) {
    return each && (each.isSplat() || each.getNumElements() <= kMaxFoldedElements);
  });
}

/// Calls `fn` on the elements of `operands`, once only where all are splats.
template <typename T, typename ResultT>
static Attribute mapElements(ArrayRef<DenseElementsAttr> operands, ShapedType type,
                             llvm::function_ref<std::optional<ResultT>(ArrayRef<T>)> fn) {
  bool isSplat = llvm::all_of(operands, [](DenseElementsAttr each) { return each.isSplat(); });
  SmallVector<ResultT> results;
  for (int64_t i = 0, end = isSplat ? 1 : type.getNumElements(); i != end; ++i) {
    SmallVector<T, 2> values;
    for (DenseElementsAttr each : operands)
      values.push_back(each.isSplat() ? each.getSplatValue<T>() : each.getValues<T>()[i]);
    std::optional<ResultT> result = fn(values);
    if (!result)
      return {};
    results.push_back(*result);
  }
  return DenseElementsAttr::get(type, results);
}

Attribute stablehlo::foldBinary(Attribute lhs, Attribute rhs, IntBinaryFn onInts,
                                FloatBinaryFn onFloats) {
  auto lhsElements = dyn_cast_or_null<DenseElementsAttr>(lhs);
  auto rhsElements = dyn_cast_or_null<DenseElementsAttr>(rhs);
  if (!isFoldable({lhsElements, rhsElements}) || lhsElements.getType() != rhsElements.getType())
    return {};
  ShapedType type = lhsElements.getType();
  if (isa<IntegerType>(type.getElementType()) && onInts)
    return mapElements<APInt, APInt>({lhsElements, rhsElements}, type,
                                     [&](ArrayRef<APInt> v) { return onInts(v[0], v[1]); });
  if (isa<FloatType>(type.getElementType()) && onFloats)
    return mapElements<APFloat, APFloat>({lhsElements, rhsElements}, type,
                                         [&](ArrayRef<APFloat> v) { return onFloats(v[0], v[1]); });
  return {};
}

Attribute stablehlo::foldUnary(Attribute operand, IntUnaryFn onInts, FloatUnaryFn onFloats) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(operand);
  if (!isFoldable({elements}))
    return {};
  ShapedType type = elements.getType();
  if (isa<IntegerType>(type.getElementType()) && onInts)
    return mapElements<APInt, APInt>({elements}, type,
                                     [&](ArrayRef<APInt> v) { return onInts(v[0]); });
  if (isa<FloatType>(type.getElementType()) && onFloats)
    return mapElements<APFloat, APFloat>({elements}, type,
                                         [&](ArrayRef<APFloat> v) { return onFloats(v[0]); });
  return {};
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Converts an integer of type `from` to type `to`. A pred is true if the integer is not zero;
/// other types wrap.
static APInt convertInt(const APInt &value, Type from, IntegerType to) {
  if (to.getWidth() == 1)
    return APInt(1, !value.isZero());
  return isUnsigned(from) ? value.zextOrTrunc(to.getWidth()) : value.sextOrTrunc(to.getWidth());
}

/// Rounds toward zero. Results out of range depend on the implementation, so they are not folded.
static std::optional<APInt> convertToInt(const APFloat &value, IntegerType to) {
  if (to.getWidth() == 1)
    return APInt(1, !value.isZero());
  APSInt result(to.getWidth(), isUnsigned(to));
  bool isExact;
  if (value.convertToInteger(result, APFloat::rmTowardZero, &isExact) == APFloat::opInvalidOp)
    return std::nullopt;
  return APInt(result);
}

static APFloat convertToFloat(const APInt &value, Type from, FloatType to) {
  APFloat result(to.getFloatSemantics());
  result.convertFromAPInt(value, !isUnsigned(from), APFloat::rmNearestTiesToEven);
  return result;
}

static APFloat convertFloat(APFloat value, FloatType to) {
  bool losesInfo;
  value.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return value;
}

Attribute stablehlo::foldConvert(Attribute operand, ShapedType type) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(operand);
  if (!isFoldable({elements}))
    return {};
  Type from = elements.getElementType(), to = type.getElementType();
  auto toInt = dyn_cast<IntegerType>(to);
  auto toFloat = dyn_cast<FloatType>(to);
  if (isa<IntegerType>(from) && toInt)
    return mapElements<APInt, APInt>({elements}, type, [&](ArrayRef<APInt> v) {
      return std::optional(convertInt(v[0], from, toInt));
    });
  if (isa<IntegerType>(from) && toFloat)
    return mapElements<APInt, APFloat>({elements}, type, [&](ArrayRef<APInt> v) {
      return std::optional(convertToFloat(v[0], from, toFloat));
    });
  if (isa<FloatType>(from) && toInt)
    return mapElements<APFloat, APInt>(
        {elements}, type, [&](ArrayRef<APFloat> v) { return convertToInt(v[0], toInt); });
  if (isa<FloatType>(from) && toFloat)
    return mapElements<APFloat, APFloat>({elements}, type, [&](ArrayRef<APFloat> v) {
      return std::optional(convertFloat(v[0], toFloat));
    });
  return {};
}

bool stablehlo::isSplatOf(Attribute attribute, int64_t value) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(attribute);
  if (!elements || !elements.isSplat())
    return false;
  Type type = elements.getElementType();
  if (isa<IntegerType>(type)) {
    APInt splat = elements.getSplatValue<APInt>();
    return splat == APInt(splat.getBitWidth(), value, /*isSigned=*/true, /*implicitTrunc=*/true);
  }
  if (isa<FloatType>(type)) {
    APFloat splat = elements.getSplatValue<APFloat>();
    return value == 0 ? splat.isZero() : splat.isExactlyValue(static_cast<double>(value));
  }
  return false;
}
