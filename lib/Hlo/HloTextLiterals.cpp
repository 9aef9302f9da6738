// The elements of constants in HLO text.
#include "lib/Hlo/HloTextParser.h"
#include "lib/Hlo/HloTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include <cstring>

using namespace mlir;
using namespace mlir::st;
namespace hlo = ::st::hlo;

namespace {
class LiteralReader {
public:
  LiteralReader(HloTextCursor &cursor, hlo::Literal &literal)
      : cursor(cursor), literal(literal),
        element(static_cast<HloElement>(literal.shape().element_type())) {}

  LogicalResult readArray(int dim);

private:
  LogicalResult readElement();
  LogicalResult readIntegerElement();
  LogicalResult readComplex();
  template <typename T> LogicalResult readIntegerOf(llvm::function_ref<void(T)> add);
  LogicalResult readFloat(const llvm::fltSemantics &semantics, llvm::APFloat &value);
  LogicalResult readHalf(const llvm::fltSemantics &semantics, std::string &bytes);

  HloTextCursor &cursor;
  hlo::Literal &literal;
  HloElement element;
};
} // namespace

/// Bytes as the proto keeps them, little-endian.
template <typename T> static void append(std::string &bytes, T value) {
  auto bits = static_cast<std::make_unsigned_t<T>>(value);
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes.push_back(static_cast<char>(bits >> (8 * i)));
}

/// Braces enclose the elements of a dimension; text without braces is one element.
LogicalResult LiteralReader::readArray(int dim) {
  if (dim == literal.shape().dimensions_size())
    return readElement();
  size_t start = cursor.here();
  int64_t count = 0, expected = literal.shape().dimensions(dim);
  if (failed(cursor.readList("{", "}", [&]() -> LogicalResult {
        if (cursor.take("..."))
          return cursor.failAt(start, "the elements of the constant are left out; print the module "
                                      "with large constants");
        ++count;
        return readArray(dim + 1);
      })))
    return failure();
  if (count != expected)
    return cursor.failAt(start, "a constant has " + Twine(count) + " elements along dimension " +
                                    Twine(dim) + ", expected " + Twine(expected));
  return success();
}

LogicalResult LiteralReader::readFloat(const llvm::fltSemantics &semantics, llvm::APFloat &value) {
  size_t start = cursor.here();
  StringRef text = cursor.readUntil(",(){} ");
  // A NaN may show its bits.
  if (text.contains("nan") && cursor.take("("))
    (void)cursor.readUntil(")"), (void)cursor.take(")");
  bool isNegative = text.starts_with("-");
  StringRef rest = text.drop_front(isNegative);
  if (rest == "inf" || rest == "nan") {
    value = rest == "inf" ? llvm::APFloat::getInf(semantics, isNegative)
                          : llvm::APFloat::getNaN(semantics, isNegative);
    return success();
  }
  bool isNumber = !rest.empty() && rest.size() < 64 && llvm::isDigit(rest[0]) &&
                  rest.find_first_not_of("0123456789.eE+-") == StringRef::npos;
  value = llvm::APFloat(semantics);
  if (isNumber) {
    auto status = value.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
    if (status)
      return success();
    llvm::consumeError(status.takeError());
  }
  return cursor.failAt(start, "expected a number");
}

LogicalResult LiteralReader::readHalf(const llvm::fltSemantics &semantics, std::string &bytes) {
  llvm::APFloat value(semantics);
  if (failed(readFloat(semantics, value)))
    return failure();
  append(bytes, static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue()));
  return success();
}

LogicalResult LiteralReader::readComplex() {
  bool isDouble = element == HloElement::C128;
  const auto &semantics = isDouble ? llvm::APFloat::IEEEdouble() : llvm::APFloat::IEEEsingle();
  llvm::APFloat real(semantics), imaginary(semantics);
  if (failed(cursor.expect("(")) || failed(readFloat(semantics, real)) ||
      failed(cursor.expect(",")) || failed(readFloat(semantics, imaginary)) ||
      failed(cursor.expect(")")))
    return failure();
  for (const llvm::APFloat &part : {real, imaginary})
    if (isDouble)
      literal.add_c128s(part.convertToDouble());
    else
      literal.add_c64s(part.convertToFloat());
  return success();
}

template <typename T> LogicalResult LiteralReader::readIntegerOf(llvm::function_ref<void(T)> add) {
  size_t start = cursor.here();
  StringRef text = cursor.readUntil(",(){} ");
  T value = 0;
  if (text.getAsInteger(10, value))
    return cursor.failAt(start, "expected an integer of " + Twine(8 * sizeof(T)) + " bits");
  add(value);
  return success();
}

LogicalResult LiteralReader::readIntegerElement() {
  switch (element) {
  case HloElement::S8:
    return readIntegerOf<int8_t>([&](int8_t v) { append(*literal.mutable_s8s(), v); });
  case HloElement::U8:
    return readIntegerOf<uint8_t>([&](uint8_t v) { append(*literal.mutable_u8s(), v); });
  case HloElement::S16:
    return readIntegerOf<int16_t>([&](int16_t v) { append(*literal.mutable_s16s(), v); });
  case HloElement::U16:
    return readIntegerOf<uint16_t>([&](uint16_t v) { append(*literal.mutable_u16s(), v); });
  case HloElement::S32:
    return readIntegerOf<int32_t>([&](int32_t v) { literal.add_s32s(v); });
  case HloElement::U32:
    return readIntegerOf<uint32_t>([&](uint32_t v) { literal.add_u32s(v); });
  case HloElement::S64:
    return readIntegerOf<int64_t>([&](int64_t v) { literal.add_s64s(v); });
  case HloElement::U64:
    return readIntegerOf<uint64_t>([&](uint64_t v) { literal.add_u64s(v); });
  default:
    return cursor.fail("a constant of this element type cannot be imported");
  }
}

LogicalResult LiteralReader::readElement() {
  switch (element) {
  case HloElement::Pred: {
    // In arrays, booleans are digits.
    bool value = cursor.take("1");
    if (!value && !cursor.take("0") && failed(cursor.readBool(value)))
      return failure();
    literal.add_preds(value);
    return success();
  }
  case HloElement::F16:
    return readHalf(llvm::APFloat::IEEEhalf(), *literal.mutable_f16s());
  case HloElement::BF16:
    return readHalf(llvm::APFloat::BFloat(), *literal.mutable_bf16s());
  case HloElement::F32:
  case HloElement::F64: {
    bool isDouble = element == HloElement::F64;
    llvm::APFloat value(0.0);
    if (failed(
            readFloat(isDouble ? llvm::APFloat::IEEEdouble() : llvm::APFloat::IEEEsingle(), value)))
      return failure();
    if (isDouble)
      literal.add_f64s(value.convertToDouble());
    else
      literal.add_f32s(value.convertToFloat());
    return success();
  }
  case HloElement::C64:
  case HloElement::C128:
    return readComplex();
  default:
    return readIntegerElement();
  }
}

LogicalResult mlir::st::readHloLiteral(HloTextCursor &cursor, hlo::Literal &literal) {
  if (isTuple(literal.shape()) || literal.shape().dimensions_size() > 64)
    return cursor.fail("a constant of this shape cannot be imported");
  return LiteralReader(cursor, literal).readArray(0);
}
