#include "lib/Reference/TensorTypes.h"

#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/Numerics/Elementwise.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>
#include <limits>

namespace mlir::st::ref {

std::optional<ElementType> getElementType(Type type) {
  if (type.isF64())
    return ElementType::F64;
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return ElementType::C64;
    return complex.getElementType().isF64() ? std::optional(ElementType::C128) : std::nullopt;
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return isUnsigned ? std::nullopt : std::optional(ElementType::BOOL);
  case 8:
    return isUnsigned ? ElementType::U8 : ElementType::I8;
  case 16:
    return isUnsigned ? ElementType::U16 : ElementType::I16;
  case 32:
    return isUnsigned ? ElementType::U32 : ElementType::I32;
  case 64:
    return isUnsigned ? ElementType::U64 : ElementType::I64;
  default:
    return std::nullopt;
  }
}

std::optional<ElementType> getTensorElementType(Type type) {
  // More than any machine that runs the interpreter can hold.
  constexpr int64_t kMaxElements = int64_t(1) << 34;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return std::nullopt;
  int64_t count = 1;
  for (int64_t dim : tensor.getShape())
    if (__builtin_mul_overflow(count, std::max<int64_t>(dim, 1), &count) || count > kMaxElements)
      return std::nullopt;
  return getElementType(tensor.getElementType());
}

bool isOfType(const Tensor &tensor, Type type) {
  return tensor && getTensorElementType(type) == tensor.getType() &&
         cast<RankedTensorType>(type).getShape() == tensor.getShape();
}

std::string toString(ElementType type, ArrayRef<int64_t> shape) {
  std::string text(::st::elementTypeName(type));
  text += "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string toString(const Tensor &tensor) { return toString(tensor.getType(), tensor.getShape()); }

namespace {

// Copies the attribute's raw bytes, in which every element has its natural width.
Tensor fromBytes(ElementType type, ArrayRef<int64_t> shape, ArrayRef<char> bytes) {
  Tensor tensor(type, shape);
  if (bytes.size() != tensor.getByteSize())
    return Tensor();
  std::memcpy(tensor.mutableData<std::byte>(), bytes.data(), bytes.size());
  return tensor;
}

Tensor fromDense(DenseElementsAttr dense, ElementType type) {
  ArrayRef<int64_t> shape = dense.getType().getShape();
  if (type == ElementType::BOOL) {
    // The attribute unpacks its own elements.
    Tensor tensor(type, dense.isSplat() ? ArrayRef<int64_t>() : shape);
    bool *data = tensor.mutableData<bool>();
    if (dense.isSplat())
      *data = dense.getSplatValue<bool>();
    else
      llvm::copy(dense.getValues<bool>(), data);
    return dense.isSplat() ? splat(tensor, shape) : tensor;
  }
  if (!dense.isSplat())
    return fromBytes(type, shape, dense.getRawData());
  Tensor value = fromBytes(type, {}, dense.getRawData());
  return value ? splat(value, shape) : value;
}

} // namespace

Tensor fromAttribute(ElementsAttr attribute) {
  std::optional<ElementType> type = getTensorElementType(attribute.getType());
  if (!type)
    return Tensor();
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute))
    return fromDense(dense, *type);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      return fromBytes(*type, resource.getType().getShape(), blob->getData());
  return Tensor();
}

static Type toType(ElementType type, MLIRContext *context) {
  switch (type) {
  case ElementType::F64:
    return Float64Type::get(context);
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::BOOL:
    return IntegerType::get(context, 1);
  case ElementType::C64:
    return ComplexType::get(Float32Type::get(context));
  case ElementType::C128:
    return ComplexType::get(Float64Type::get(context));
  default:
    break;
  }
  bool isUnsigned = ::st::elementTypeName(type)[0] == 'U';
  return IntegerType::get(context, static_cast<unsigned>(8 * ::st::byteWidth(type)),
                          isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
}

ElementsAttr toAttribute(const Tensor &tensor, MLIRContext *context) {
  auto type = RankedTensorType::get(tensor.getShape(), toType(tensor.getType(), context));
  if (tensor.getType() == ElementType::BOOL)
    return DenseElementsAttr::get(
        type, ArrayRef<bool>(tensor.data<bool>(), static_cast<size_t>(tensor.getNumElements())));
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef<char>(tensor.data<char>(), tensor.getByteSize()));
}

int64_t toInteger(const Tensor &scalar) {
  if (scalar.getType() == ElementType::U64)
    return static_cast<int64_t>(
        std::min<uint64_t>(*scalar.data<uint64_t>(), std::numeric_limits<int64_t>::max()));
  return *convert(scalar, ElementType::I64).data<int64_t>();
}

} // namespace mlir::st::ref
