#include "lib/Hlo/HloTypes.h"

#include "llvm/ADT/StringSwitch.h"
#include <complex>

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;

/// A larger size means that the file is damaged.
static constexpr int64_t kMaxElements = int64_t{1} << 40;

std::optional<HloElement> mlir::st::elementNamed(StringRef name) {
  return llvm::StringSwitch<std::optional<HloElement>>(name)
      .Case("pred", HloElement::Pred)
      .Case("s4", HloElement::S4)
      .Case("s8", HloElement::S8)
      .Case("s16", HloElement::S16)
      .Case("s32", HloElement::S32)
      .Case("s64", HloElement::S64)
      .Case("u4", HloElement::U4)
      .Case("u8", HloElement::U8)
      .Case("u16", HloElement::U16)
      .Case("u32", HloElement::U32)
      .Case("u64", HloElement::U64)
      .Case("f16", HloElement::F16)
      .Case("bf16", HloElement::BF16)
      .Case("f32", HloElement::F32)
      .Case("f64", HloElement::F64)
      .Case("c64", HloElement::C64)
      .Case("c128", HloElement::C128)
      .Case("f8e5m2", HloElement::F8E5M2)
      .Case("f8e4m3", HloElement::F8E4M3)
      .Case("f8e4m3fn", HloElement::F8E4M3FN)
      .Case("f8e4m3b11fnuz", HloElement::F8E4M3B11FNUZ)
      .Case("f8e5m2fnuz", HloElement::F8E5M2FNUZ)
      .Case("f8e4m3fnuz", HloElement::F8E4M3FNUZ)
      .Case("f8e3m4", HloElement::F8E3M4)
      .Case("token", HloElement::Token)
      .Case("opaque", HloElement::Opaque)
      .Default(std::nullopt);
}

bool mlir::st::isTuple(const hlo::Shape &shape) {
  return shape.element_type() == static_cast<int32_t>(HloElement::Tuple);
}

static Type integerType(HloElement element, MLIRContext *context) {
  auto type = [&](unsigned width, bool isUnsigned = false) {
    return IntegerType::get(context, width,
                            isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (element) {
  case HloElement::Pred:
    return type(1);
  case HloElement::S4:
    return type(4);
  case HloElement::S8:
    return type(8);
  case HloElement::S16:
    return type(16);
  case HloElement::S32:
    return type(32);
  case HloElement::S64:
    return type(64);
  case HloElement::U4:
    return type(4, true);
  case HloElement::U8:
    return type(8, true);
  case HloElement::U16:
    return type(16, true);
  case HloElement::U32:
    return type(32, true);
  case HloElement::U64:
    return type(64, true);
  default:
    return nullptr;
  }
}

static Type floatType(HloElement element, MLIRContext *context) {
  switch (element) {
  case HloElement::F16:
    return Float16Type::get(context);
  case HloElement::BF16:
    return BFloat16Type::get(context);
  case HloElement::F32:
    return Float32Type::get(context);
  case HloElement::F64:
    return Float64Type::get(context);
  case HloElement::C64:
    return ComplexType::get(Float32Type::get(context));
  case HloElement::C128:
    return ComplexType::get(Float64Type::get(context));
  case HloElement::F8E5M2:
    return Float8E5M2Type::get(context);
  case HloElement::F8E4M3:
    return Float8E4M3Type::get(context);
  case HloElement::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case HloElement::F8E4M3B11FNUZ:
    return Float8E4M3B11FNUZType::get(context);
  case HloElement::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case HloElement::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case HloElement::F8E3M4:
    return Float8E3M4Type::get(context);
  default:
    return nullptr;
  }
}

RankedTensorType mlir::st::typeOfShape(const hlo::Shape &shape, MLIRContext *context) {
  auto kind = static_cast<HloElement>(shape.element_type());
  Type element = integerType(kind, context);
  if (!element)
    element = floatType(kind, context);
  if (!element || shape.dimensions_size() > 64)
    return nullptr;
  int64_t count = 1;
  for (int64_t size : shape.dimensions()) {
    if (size < 0 || size > kMaxElements || (size > 0 && count > kMaxElements / size))
      return nullptr;
    count *= size;
  }
  return RankedTensorType::get(
      SmallVector<int64_t>(shape.dimensions().begin(), shape.dimensions().end()), element);
}

SmallVector<int64_t> mlir::st::majorToMinor(const hlo::Shape &shape) {
  int64_t rank = shape.dimensions_size();
  const auto &order = shape.layout().minor_to_major();
  if (order.empty())
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  SmallVector<int64_t> result(order.rbegin(), order.rend()), sorted(result);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)))
    result.clear();
  return result;
}

bool mlir::st::isRowMajor(const hlo::Shape &shape) {
  return llvm::equal(majorToMinor(shape), llvm::seq<int64_t>(0, shape.dimensions_size()));
}

/// Elements that the proto keeps as numbers.
template <typename T, typename Repeated>
static DenseElementsAttr fromNumbers(RankedTensorType type, const Repeated &values) {
  if (static_cast<int64_t>(values.size()) != type.getNumElements())
    return nullptr;
  SmallVector<T> elements(values.begin(), values.end());
  return DenseElementsAttr::get(type, ArrayRef<T>(elements));
}

/// Complex elements, for which the proto stores the real and the imaginary part in sequence.
template <typename T, typename Repeated>
static DenseElementsAttr fromParts(RankedTensorType type, const Repeated &values) {
  if (static_cast<int64_t>(values.size()) != 2 * type.getNumElements())
    return nullptr;
  SmallVector<std::complex<T>> elements;
  for (int i = 0; i < values.size(); i += 2)
    elements.emplace_back(values[i], values[i + 1]);
  return DenseElementsAttr::get(type, ArrayRef<std::complex<T>>(elements));
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
  switch (static_cast<HloElement>(literal.shape().element_type())) {
  case HloElement::Pred:
    return fromNumbers<bool>(type, literal.preds());
  case HloElement::S32:
    return fromNumbers<int32_t>(type, literal.s32s());
  case HloElement::S64:
    return fromNumbers<int64_t>(type, literal.s64s());
  case HloElement::U32:
    return fromNumbers<uint32_t>(type, literal.u32s());
  case HloElement::U64:
    return fromNumbers<uint64_t>(type, literal.u64s());
  case HloElement::F32:
    return fromNumbers<float>(type, literal.f32s());
  case HloElement::F64:
    return fromNumbers<double>(type, literal.f64s());
  case HloElement::C64:
    return fromParts<float>(type, literal.c64s());
  case HloElement::C128:
    return fromParts<double>(type, literal.c128s());
  case HloElement::S8:
    return fromBytes(type, literal.s8s());
  case HloElement::U8:
    return fromBytes(type, literal.u8s());
  case HloElement::S16:
    return fromBytes(type, literal.s16s());
  case HloElement::U16:
    return fromBytes(type, literal.u16s());
  case HloElement::F16:
    return fromBytes(type, literal.f16s());
  case HloElement::BF16:
    return fromBytes(type, literal.bf16s());
  default:
    return nullptr;
  }
}
