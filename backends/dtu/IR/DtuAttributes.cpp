// Syntax of the dialect's attributes. They nest without their prefix: a view prints its address as
// `L3[64 + 4 * r5]`, not as a separate attribute.
#include "backends/dtu/IR/DtuDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::dtu;

#define GET_ATTRDEF_CLASSES
#include "backends/dtu/IR/DtuAttrs.cpp.inc"

void DtuDialect::registerDtuAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "backends/dtu/IR/DtuAttrs.cpp.inc"
      >();
}

// ---- pieces -----------------------------------------------------------------------

static ParseResult parseRegister(AsmParser &parser, int64_t &reg) {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  if (!name.consume_front("r") || name.getAsInteger(10, reg))
    return parser.emitError(loc, "expected a register r0, r1, ...");
  return success();
}

static void printAffine(AsmPrinter &printer, AffineAttr affine) {
  ArrayRef<int64_t> terms = affine.getTerms();
  bool first = affine.getConstant() == 0 && !terms.empty();
  if (!first)
    printer << affine.getConstant();
  for (size_t i = 0; i < terms.size(); i += 2) {
    printer << (first ? "" : " + ") << terms[i + 1] << " * r" << terms[i];
    first = false;
  }
}

static AffineAttr parseAffine(AsmParser &parser) {
  int64_t constant = 0;
  SmallVector<int64_t> terms;
  do {
    int64_t number, reg;
    if (parser.parseInteger(number))
      return {};
    if (failed(parser.parseOptionalStar())) {
      constant += number;
      continue;
    }
    if (parseRegister(parser, reg))
      return {};
    terms.append({reg, number});
  } while (succeeded(parser.parseOptionalPlus()));
  return AffineAttr::get(parser.getContext(), constant, terms);
}

static void printAddress(AsmPrinter &printer, AddressAttr address) {
  printer << address.getSpace() << '[';
  printAffine(printer, address.getOffset());
  printer << ']';
  AffineAttr core = address.getCore();
  if (core.getConstant() == 0 && core.getTerms().empty())
    return;
  printer << " core ";
  printAffine(printer, core);
}

static AddressAttr parseAddress(AsmParser &parser) {
  StringRef space;
  if (parser.parseKeyword(&space) || parser.parseLSquare())
    return {};
  AffineAttr offset = parseAffine(parser), core = AffineAttr::get(parser.getContext(), 0, {});
  if (!offset || parser.parseRSquare())
    return {};
  if (succeeded(parser.parseOptionalKeyword("core")) && !(core = parseAffine(parser)))
    return {};
  return AddressAttr::get(parser.getContext(), space, offset, core);
}

// ---- attributes ---------------------------------------------------------------------

void AffineAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAffine(printer, *this);
  printer << '>';
}

Attribute AffineAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  AffineAttr affine = parseAffine(parser);
  return affine && succeeded(parser.parseGreater()) ? affine : AffineAttr();
}

void AddressAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAddress(printer, *this);
  printer << '>';
}

Attribute AddressAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  AddressAttr address = parseAddress(parser);
  return address && succeeded(parser.parseGreater()) ? address : AddressAttr();
}

void ViewAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printAddress(printer, getAddress());
  printer << " strides [";
  llvm::interleaveComma(getStrides(), printer);
  printer << "]>";
}

Attribute ViewAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  AddressAttr address = parseAddress(parser);
  SmallVector<int64_t> strides;
  auto parseStride = [&]() { return parser.parseInteger(strides.emplace_back()); };
  if (!address || parser.parseKeyword("strides") ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseStride) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), address, strides);
}

void ExtentAttr::print(AsmPrinter &printer) const {
  printer << '<' << getTile();
  if (getReg() != 0 || getLimit() != 0)
    printer << ", " << getLimit() << " - r" << getReg();
  printer << '>';
}

Attribute ExtentAttr::parse(AsmParser &parser, Type) {
  int64_t tile, reg = 0, limit = 0;
  if (parser.parseLess() || parser.parseInteger(tile))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseInteger(limit) || parser.parseMinus() || parseRegister(parser, reg)))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), tile, reg, limit);
}

void OperandAttr::print(AsmPrinter &printer) const {
  printer << '<' << getType() << ' ';
  printAddress(printer, getAddress());
  printer << " rows " << getRowStride() << " cols " << getColStride() << '>';
}

Attribute OperandAttr::parse(AsmParser &parser, Type) {
  StringRef type;
  int64_t rows, cols;
  if (parser.parseLess() || parser.parseKeyword(&type))
    return {};
  AddressAttr address = parseAddress(parser);
  if (!address || parser.parseKeyword("rows") || parser.parseInteger(rows) ||
      parser.parseKeyword("cols") || parser.parseInteger(cols) || parser.parseGreater())
    return {};
  return get(parser.getContext(), type, address, rows, cols);
}
