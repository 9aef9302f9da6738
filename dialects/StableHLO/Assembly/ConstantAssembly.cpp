//===- ConstantAssembly.cpp - The text of stablehlo.constant --------------===//

#include "dialects/StableHLO/StableHLOOps.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>

using namespace mlir;
using namespace mlir::stablehlo;

/// Returns true for a literal of booleans in hexadecimal digits, `dense<"0x0100"> : tensor<2xi1>`.
/// Looks ahead in the text, because the type follows the digits.
static bool startsBooleans(SMLoc loc) {
  constexpr StringLiteral kStart = "dense<\"0x", kMiddle = "> : tensor<", kEnd = "i1>";
  const char *text = loc.getPointer();
  if (!text || std::strncmp(text, kStart.data(), kStart.size()) != 0)
    return false;
  text += kStart.size();
  text += std::strspn(text, "0123456789abcdefABCDEF");
  if (*text++ != '"' || std::strncmp(text, kMiddle.data(), kMiddle.size()) != 0)
    return false;
  text += kMiddle.size();
  text += std::strspn(text, "0123456789x");
  return std::strncmp(text, kEnd.data(), kEnd.size()) == 0;
}

/// MLIR in JAX prints large boolean constants with a byte for each element; MLIR 22 and older
/// versions print a bit.
static ParseResult parseBooleans(OpAsmParser &parser, Attribute &attribute) {
  std::string digits, bytes;
  RankedTensorType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword("dense") || parser.parseLess() || parser.parseString(&digits) ||
      parser.parseGreater() || parser.parseColonType(type))
    return failure();
  auto count = static_cast<size_t>(type.getNumElements());
  bool isHex = llvm::tryGetFromHex(StringRef(digits).drop_front(2), bytes);
  // A single byte of equal bits represents all values.
  bool isSplat = bytes.size() == 1 && count > 8;
  if (!isHex || (bytes.size() != count && bytes.size() != llvm::divideCeil(count, 8) && !isSplat))
    return parser.emitError(loc) << "expected a byte or a bit for each of " << count
                                 << " booleans, found " << digits.size() - 2 << " digits";
  SmallVector<bool> values(count);
  for (auto [i, value] : llvm::enumerate(values))
    value = isSplat                 ? bytes[0] != 0
            : bytes.size() == count ? bytes[i] != 0
                                    : (bytes[i / 8] >> i % 8 & 1) != 0;
  attribute = DenseElementsAttr::get(type, ArrayRef<bool>(values));
  return success();
}

ParseResult ConstantOp::parse(OpAsmParser &parser, OperationState &result) {
  Attribute attribute;
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (startsBooleans(loc) ? parseBooleans(parser, attribute) : parser.parseAttribute(attribute))
    return failure();
  auto value = dyn_cast<ElementsAttr>(attribute);
  if (!value)
    return parser.emitError(loc) << "expected the elements of a tensor, got " << attribute;
  result.getOrAddProperties<Properties>().value = value;
  result.addTypes(value.getType());
  return success();
}

void ConstantOp::print(OpAsmPrinter &printer) {
  printer.printOptionalAttrDict((*this)->getAttrs(), {getValueAttrName()});
  printer << ' ' << getValue();
}
