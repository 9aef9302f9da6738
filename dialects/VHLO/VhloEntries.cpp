// Decodes attributes and types of the vhlo dialect to builtin and stablehlo ones.
#include "dialects/StableHLO/StableHLOAttributes.h"
#include "dialects/VHLO/Entries.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeRange.h"

using namespace mlir;
using namespace mlir::vhlo;

namespace {
enum class AttributeCode : uint64_t {
  Array = 1,
  Boolean,
  ComparisonDirection,
  ComparisonType,
  CustomCallApiVersion,
  Dictionary,
  FftType,
  Float,
  Integer,
  OutputOperandAlias,
  Precision,
  RngAlgorithm,
  RngDistribution,
  String,
  Tensor,
  Transpose,
  Type,
  TypeExtensions,
  ResultAccuracyMode,
  ResultAccuracy
};

enum class TypeCode : uint64_t {
  Boolean,
  Complex,
  BF16,
  F16,
  F32,
  F64,
  F8E4M3FN,
  F8E5M2,
  Function,
  Index,
  SI4,
  SI8,
  SI16,
  SI32,
  SI64,
  UI4,
  UI8,
  UI16,
  UI32,
  UI64,
  RankedTensor,
  RankedTensorWithEncoding,
  Token,
  Tuple,
  Quantized,
  UnrankedTensor,
  Witness,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F8E4M3B11FNUZ,
  QuantizedPerAxis,
  SI2,
  UI2,
  None,
  TF32,
  F8E4M3,
  F8E3M4,
  F4E2M1FN,
  F6E2M3FN,
  F6E3M2FN,
  F8E8M0FNU,
  Buffer,
  Future
};
} // namespace

/// An enum attribute of stablehlo. Its cases have the same numbers as in vhlo.
template <class EnumAttr> static Attribute readEnum(EntryReader &reader, uint64_t maxValue) {
  uint64_t value = reader.number();
  if (value > maxValue)
    reader.fault("damaged bytecode: case " + Twine(value) + " of an enum of " +
                 Twine(maxValue + 1));
  using Enum = decltype(std::declval<EnumAttr>().getValue());
  return reader.failed() ? Attribute()
                         : Attribute(EnumAttr::get(reader.getContext(), static_cast<Enum>(value)));
}

static Attribute readOperandAlias(EntryReader &reader) {
  SmallVector<int64_t> output = reader.signedNumbers();
  int64_t operand = reader.signedNumber();
  SmallVector<int64_t> indices = reader.signedNumbers();
  return stablehlo::OutputOperandAliasAttr::get(reader.getContext(), output, operand, indices);
}

static Attribute readAccuracy(EntryReader &reader) {
  auto number = [&] { return APFloat(APFloat::IEEEdouble(), reader.integer(64)); };
  APFloat atol = number(), rtol = number();
  int64_t ulps = reader.signedNumber();
  auto mode = reader.attributeOf<stablehlo::ResultAccuracyModeAttr>("a mode of accuracy");
  return mode ? stablehlo::ResultAccuracyAttr::get(reader.getContext(), atol, rtol, ulps, mode)
              : stablehlo::ResultAccuracyAttr();
}

static Attribute readEnumOfCode(EntryReader &reader, AttributeCode code) {
  switch (code) {
  case AttributeCode::ComparisonDirection:
    return readEnum<stablehlo::ComparisonDirectionAttr>(reader, 5);
  case AttributeCode::ComparisonType:
    return readEnum<stablehlo::ComparisonTypeAttr>(reader, 4);
  case AttributeCode::FftType:
    return readEnum<stablehlo::FftTypeAttr>(reader, 3);
  case AttributeCode::Precision:
    return readEnum<stablehlo::PrecisionAttr>(reader, 2);
  case AttributeCode::RngAlgorithm:
    return readEnum<stablehlo::RngAlgorithmAttr>(reader, 2);
  case AttributeCode::Transpose:
    return readEnum<stablehlo::TransposeAttr>(reader, 3);
  case AttributeCode::ResultAccuracyMode:
    return readEnum<stablehlo::ResultAccuracyModeAttr>(reader, 2);
  default:
    // For custom calls and `rng`, St's ops have numbers instead of enums.
    return Builder(reader.getContext()).getI32IntegerAttr(static_cast<int32_t>(reader.number()));
  }
}

Attribute mlir::vhlo::readVhloAttribute(EntryReader &reader) {
  MLIRContext *context = reader.getContext();
  uint64_t number = reader.number();
  switch (auto code = static_cast<AttributeCode>(number)) {
  case AttributeCode::Array: {
    SmallVector<Attribute> elements = reader.attributes();
    return reader.failed() ? Attribute() : ArrayAttr::get(context, elements);
  }
  case AttributeCode::Boolean:
    return BoolAttr::get(context, reader.number() != 0);
  case AttributeCode::ComparisonDirection:
  case AttributeCode::ComparisonType:
  case AttributeCode::CustomCallApiVersion:
  case AttributeCode::FftType:
  case AttributeCode::Precision:
  case AttributeCode::RngAlgorithm:
  case AttributeCode::RngDistribution:
  case AttributeCode::Transpose:
  case AttributeCode::ResultAccuracyMode:
    return readEnumOfCode(reader, code);
  case AttributeCode::Dictionary:
    return reader.dictionary();
  case AttributeCode::Float:
    return reader.floatOf(reader.type());
  case AttributeCode::Integer:
    return reader.integerOf(reader.type());
  case AttributeCode::OutputOperandAlias:
    return readOperandAlias(reader);
  case AttributeCode::String:
    return StringAttr::get(context, reader.string());
  case AttributeCode::Tensor:
    return reader.elementsOf(reader.type());
  case AttributeCode::Type: {
    Type type = reader.type();
    return type ? TypeAttr::get(type) : TypeAttr();
  }
  case AttributeCode::TypeExtensions:
    reader.fault("a tensor has bounds of dynamic dimensions: shapes are static");
    return Attribute();
  case AttributeCode::ResultAccuracy:
    return readAccuracy(reader);
  }
  reader.fault("vhlo attribute of code " + Twine(number) + " is not supported");
  return Attribute();
}

/// The type of a single number, or null for other codes.
static Type getNumberType(MLIRContext *context, TypeCode code) {
  Builder b(context);
  auto unsignedType = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (code) {
  case TypeCode::Boolean:
    return b.getI1Type();
  case TypeCode::BF16:
    return b.getBF16Type();
  case TypeCode::F16:
    return b.getF16Type();
  case TypeCode::F32:
    return b.getF32Type();
  case TypeCode::F64:
    return b.getF64Type();
  case TypeCode::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TypeCode::F8E5M2:
    return Float8E5M2Type::get(context);
  case TypeCode::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TypeCode::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TypeCode::F8E4M3B11FNUZ:
    return Float8E4M3B11FNUZType::get(context);
  case TypeCode::F8E4M3:
    return Float8E4M3Type::get(context);
  case TypeCode::F8E3M4:
    return Float8E3M4Type::get(context);
  case TypeCode::F4E2M1FN:
    return Float4E2M1FNType::get(context);
  case TypeCode::F6E2M3FN:
    return Float6E2M3FNType::get(context);
  case TypeCode::F6E3M2FN:
    return Float6E3M2FNType::get(context);
  case TypeCode::F8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case TypeCode::TF32:
    return FloatTF32Type::get(context);
  case TypeCode::Index:
    return b.getIndexType();
  case TypeCode::SI2:
    return b.getIntegerType(2);
  case TypeCode::SI4:
    return b.getIntegerType(4);
  case TypeCode::SI8:
    return b.getIntegerType(8);
  case TypeCode::SI16:
    return b.getIntegerType(16);
  case TypeCode::SI32:
    return b.getIntegerType(32);
  case TypeCode::SI64:
    return b.getIntegerType(64);
  case TypeCode::UI2:
    return unsignedType(2);
  case TypeCode::UI4:
    return unsignedType(4);
  case TypeCode::UI8:
    return unsignedType(8);
  case TypeCode::UI16:
    return unsignedType(16);
  case TypeCode::UI32:
    return unsignedType(32);
  case TypeCode::UI64:
    return unsignedType(64);
  case TypeCode::None:
    return b.getNoneType();
  default:
    return Type();
  }
}

/// The reason to refuse a type. Empty for other codes.
static StringRef whyRefused(TypeCode code) {
  switch (code) {
  case TypeCode::Quantized:
  case TypeCode::QuantizedPerAxis:
    return "a quantized type is refused: there are no quantized types";
  case TypeCode::UnrankedTensor:
  case TypeCode::Witness:
  case TypeCode::RankedTensorWithEncoding:
    return "a tensor without a static shape is refused: shapes are static";
  case TypeCode::Buffer:
    return "buffer is refused: values are tensors";
  case TypeCode::Future:
    return "future is refused: the compiler decides when collectives run";
  default:
    return "";
  }
}

RankedTensorType mlir::vhlo::getTokenType(MLIRContext *context) {
  return RankedTensorType::get({0}, IntegerType::get(context, 1));
}

Type mlir::vhlo::readStablehloType(EntryReader &reader) {
  constexpr uint64_t kToken = 0;
  const uint64_t number = reader.number();
  if (number == kToken)
    return getTokenType(reader.getContext());
  reader.fault("type " + Twine(number) + " of dialect stablehlo is not supported");
  return Type();
}

Type mlir::vhlo::readVhloType(EntryReader &reader) {
  MLIRContext *context = reader.getContext();
  uint64_t number = reader.number();
  auto code = static_cast<TypeCode>(number);
  if (Type type = getNumberType(context, code))
    return type;
  if (StringRef reason = whyRefused(code); !reason.empty()) {
    reader.fault("type " + reason);
    return Type();
  }
  switch (code) {
  case TypeCode::Complex:
    return makeComplexType(reader, reader.type());
  case TypeCode::Function: {
    SmallVector<Type> inputs = reader.types(), results = reader.types();
    return reader.failed() ? Type() : FunctionType::get(context, inputs, results);
  }
  case TypeCode::RankedTensor: {
    SmallVector<int64_t> shape = reader.signedNumbers();
    return makeTensorType(reader, shape, reader.type());
  }
  case TypeCode::Token:
    return getTokenType(context);
  case TypeCode::Tuple: {
    SmallVector<Type> types = reader.types();
    return reader.failed() ? Type() : TupleType::get(context, types);
  }
  default:
    reader.fault("vhlo type of code " + Twine(number) + " is not supported");
    return Type();
  }
}
