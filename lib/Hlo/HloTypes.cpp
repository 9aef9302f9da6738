#include "lib/Hlo/HloTypes.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;

// PrimitiveType of XLA.
enum ElementType : int32_t {
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kTuple = 13,
  kBf16 = 16,
};

/// Larger tensors are no tensors but damage.
static constexpr int64_t kMostElements = int64_t{1} << 40;

bool mlir::st::isTuple(const hlo::Shape &shape) { return shape.element_type() == kTuple; }

static Type elementType(int32_t type, MLIRContext *context) {
  auto integer = [&](unsigned width, bool isUnsigned) -> Type {
    return IntegerType::get(context, width,
                            isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case kPred:
    return integer(1, false);
  case kS8:
    return integer(8, false);
  case kS16:
    return integer(16, false);
  case kS32:
    return integer(32, false);
  case kS64:
    return integer(64, false);
  case kU8:
    return integer(8, true);
  case kU16:
    return integer(16, true);
  case kU32:
    return integer(32, true);
  case kU64:
    return integer(64, true);
  case kF16:
    return Float16Type::get(context);
  case kBf16:
    return BFloat16Type::get(context);
  case kF32:
    return Float32Type::get(context);
  case kF64:
    return Float64Type::get(context);
  default:
    return nullptr;
  }
}

RankedTensorType mlir::st::typeOfShape(const hlo::Shape &shape, MLIRContext *context) {
  Type element = elementType(shape.element_type(), context);
  if (!element || shape.dimensions_size() > 64)
    return nullptr;
  int64_t count = 1;
  for (int64_t size : shape.dimensions()) {
    if (size < 0 || size > kMostElements || (size > 0 && count > kMostElements / size))
      return nullptr;
    count *= size;
  }
  return RankedTensorType::get(
      SmallVector<int64_t>(shape.dimensions().begin(), shape.dimensions().end()), element);
}

static bool isRowMajor(const hlo::Shape &shape) {
  int64_t rank = shape.dimensions_size();
  const auto &order = shape.layout().minor_to_major();
  if (order.empty())
    return true;
  if (order.size() != rank)
    return false;
  for (int64_t i = 0; i < rank; ++i)
    if (order[i] != rank - 1 - i)
      return false;
  return true;
}

/// Elements that the proto keeps as numbers.
template <typename T, typename Repeated>
static DenseElementsAttr fromNumbers(RankedTensorType type, const Repeated &values) {
  if (static_cast<int64_t>(values.size()) != type.getNumElements())
    return nullptr;
  SmallVector<T> elements(values.begin(), values.end());
  return DenseElementsAttr::get(type, ArrayRef<T>(elements));
}

/// Elements that the proto keeps as bytes, little-endian.
static DenseElementsAttr fromBytes(RankedTensorType type, const std::string &bytes) {
  int64_t width = type.getElementType().getIntOrFloatBitWidth() / 8;
  if (static_cast<int64_t>(bytes.size()) != type.getNumElements() * width)
    return nullptr;
  return DenseElementsAttr::getFromRawBuffer(type, ArrayRef<char>(bytes.data(), bytes.size()));
}

DenseElementsAttr mlir::st::elementsOfLiteral(const hlo::Literal &literal, MLIRContext *context) {
  RankedTensorType type = typeOfShape(literal.shape(), context);
  if (!type || !isRowMajor(literal.shape()))
    return nullptr;
  switch (literal.shape().element_type()) {
  case kPred:
    return fromNumbers<bool>(type, literal.preds());
  case kS32:
    return fromNumbers<int32_t>(type, literal.s32s());
  case kS64:
    return fromNumbers<int64_t>(type, literal.s64s());
  case kU32:
    return fromNumbers<uint32_t>(type, literal.u32s());
  case kU64:
    return fromNumbers<uint64_t>(type, literal.u64s());
  case kF32:
    return fromNumbers<float>(type, literal.f32s());
  case kF64:
    return fromNumbers<double>(type, literal.f64s());
  case kS8:
    return fromBytes(type, literal.s8s());
  case kU8:
    return fromBytes(type, literal.u8s());
  case kS16:
    return fromBytes(type, literal.s16s());
  case kU16:
    return fromBytes(type, literal.u16s());
  case kF16:
    return fromBytes(type, literal.f16s());
  case kBf16:
    return fromBytes(type, literal.bf16s());
  default:
    return nullptr;
  }
}
