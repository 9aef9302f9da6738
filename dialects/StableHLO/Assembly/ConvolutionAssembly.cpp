//===- ConvolutionAssembly.cpp - Syntax of convolutions -------------------===//

#include "dialects/StableHLO/Assembly/AssemblyFormat.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// Dimension numbers
//===----------------------------------------------------------------------===//

namespace {

/// One list of dimension numbers: the positions of the two lettered dimensions and of each spatial
/// one.
struct ConvDims {
  int64_t first = -1, second = -1;
  SmallVector<int64_t> spatial;
};

} // namespace

/// Parses the element of a list at position `place`.
static ParseResult parseDimension(AsmParser &parser, StringRef letters, int64_t place,
                                  ConvDims &list, SmallVectorImpl<int64_t> &spatialPlaces) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t spatial = 0;
  OptionalParseResult number = parser.parseOptionalInteger(spatial);
  if (number.has_value()) {
    if (failed(*number))
      return failure();
    if (spatial < 0 || spatial >= 64)
      return parser.emitError(loc) << "expected a spatial dimension, got " << spatial;
    if (spatial >= static_cast<int64_t>(spatialPlaces.size()))
      spatialPlaces.resize(spatial + 1, -1);
    if (std::exchange(spatialPlaces[spatial], place) != -1)
      return parser.emitError(loc) << "dimension " << spatial << " is given twice";
    return success();
  }
  StringRef letter;
  if (parser.parseKeyword(&letter))
    return failure();
  size_t which = letter.size() == 1 ? letters.find(letter[0]) : StringRef::npos;
  if (which == StringRef::npos)
    return parser.emitError(loc) << "expected a number, " << letters[0] << " or " << letters[1]
                                 << ", got " << letter;
  if (std::exchange(which == 0 ? list.first : list.second, place) != -1)
    return parser.emitError(loc) << "dimension " << letter << " is given twice";
  return success();
}

/// Parses a list like `[b, 0, 1, f]`; `letters` names its two non-spatial dimensions.
static ParseResult parseConvDims(AsmParser &parser, StringRef letters, ConvDims &list) {
  SMLoc loc = parser.getCurrentLocation();
  int64_t place = 0;
  auto parseOne = [&] { return parseDimension(parser, letters, place++, list, list.spatial); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  if (list.first == -1 || list.second == -1 || llvm::is_contained(list.spatial, -1))
    return parser.emitError(loc) << "expected " << letters[0] << ", " << letters[1]
                                 << " and every spatial dimension once";
  return success();
}

static void printConvDims(AsmPrinter &printer, char firstLetter, int64_t first, char secondLetter,
                          int64_t second, ArrayRef<int64_t> spatial) {
  // Also prints invalid numbers, because an error message may need them.
  SmallVector<std::string> names(spatial.size() + 2, "?");
  auto place = [&](int64_t at, std::string name) {
    if (at >= 0 && at < static_cast<int64_t>(names.size()))
      names[at] = std::move(name);
  };
  place(first, std::string(1, firstLetter));
  place(second, std::string(1, secondLetter));
  for (auto [i, at] : llvm::enumerate(spatial))
    place(at, std::to_string(i));
  printer << '[' << llvm::interleaved(names) << ']';
}

ParseResult stablehlo::parseConvolutionDimensions(AsmParser &parser,
                                                  ConvDimensionNumbersAttr &numbers) {
  ConvDims input, kernel, output;
  if (parseConvDims(parser, "bf", input) || parser.parseKeyword("x") ||
      parseConvDims(parser, "io", kernel) || parser.parseArrow() ||
      parseConvDims(parser, "bf", output))
    return failure();
  numbers = ConvDimensionNumbersAttr::get(
      parser.getContext(), input.first, input.second, input.spatial, kernel.first, kernel.second,
      kernel.spatial, output.first, output.second, output.spatial);
  return success();
}

void stablehlo::printConvolutionDimensions(AsmPrinter &printer, ConvDimensionNumbersAttr numbers) {
  printConvDims(printer, 'b', numbers.getInputBatchDimension(), 'f',
                numbers.getInputFeatureDimension(), numbers.getInputSpatialDimensions());
  printer << 'x';
  printConvDims(printer, 'i', numbers.getKernelInputFeatureDimension(), 'o',
                numbers.getKernelOutputFeatureDimension(), numbers.getKernelSpatialDimensions());
  printer << "->";
  printConvDims(printer, 'b', numbers.getOutputBatchDimension(), 'f',
                numbers.getOutputFeatureDimension(), numbers.getOutputSpatialDimensions());
}

void stablehlo::printConvolutionDimensions(OpAsmPrinter &printer, Operation *,
                                           ConvDimensionNumbersAttr numbers) {
  printConvolutionDimensions(printer, numbers);
}

Attribute ConvDimensionNumbersAttr::parse(AsmParser &parser, Type) {
  ConvDimensionNumbersAttr numbers;
  if (parser.parseLess() || parseConvolutionDimensions(parser, numbers) || parser.parseGreater())
    return {};
  return numbers;
}

void ConvDimensionNumbersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  printConvolutionDimensions(printer, *this);
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Parses `[[low, high], ...]`.
static ParseResult parsePadding(OpAsmParser &parser, DenseIntElementsAttr &padding) {
  SmallVector<int64_t> values;
  int64_t rows = 0;
  auto parseRow = [&]() -> ParseResult {
    ++rows;
    return failure(parser.parseLSquare() || parser.parseInteger(values.emplace_back()) ||
                   parser.parseComma() || parser.parseInteger(values.emplace_back()) ||
                   parser.parseRSquare());
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRow))
    return failure();
  auto type = RankedTensorType::get({rows, 2}, parser.getBuilder().getI64Type());
  padding = DenseIntElementsAttr::get(type, values);
  return success();
}

/// Parses a dense array attribute without its `array<...>`.
template <typename ArrayAttrT>
static ParseResult parseArray(OpAsmParser &parser, ArrayAttrT &array) {
  array = dyn_cast_or_null<ArrayAttrT>(ArrayAttrT::parse(parser, Type()));
  return success(static_cast<bool>(array));
}

ParseResult stablehlo::parseWindowAttributes(OpAsmParser &parser, DenseI64ArrayAttr &strides,
                                             DenseIntElementsAttr &padding,
                                             DenseI64ArrayAttr &lhsDilation,
                                             DenseI64ArrayAttr &rhsDilation,
                                             DenseBoolArrayAttr &reversal) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (failed(parser.parseOptionalKeyword(&name)))
    return success();
  while (true) {
    if (parser.parseEqual())
      return failure();
    ParseResult parsed = failure();
    if (name == "stride" && !strides)
      parsed = parseArray(parser, strides);
    else if (name == "pad" && !padding)
      parsed = parsePadding(parser, padding);
    else if (name == "lhs_dilate" && !lhsDilation)
      parsed = parseArray(parser, lhsDilation);
    else if (name == "rhs_dilate" && !rhsDilation)
      parsed = parseArray(parser, rhsDilation);
    else if (name == "reverse" && !reversal)
      parsed = parseArray(parser, reversal);
    else
      return parser.emitError(loc) << "expected one each of stride, pad, lhs_dilate, rhs_dilate "
                                      "and reverse, got "
                                   << name;
    if (failed(parsed))
      return failure();
    if (failed(parser.parseOptionalComma()))
      return success();
    loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
  }
}

static void printPadding(OpAsmPrinter &printer, DenseIntElementsAttr padding) {
  printer << "pad = [";
  SmallVector<int64_t> values(padding.getValues<int64_t>());
  for (size_t i = 0; i + 1 < values.size(); i += 2)
    printer << (i ? ", [" : "[") << values[i] << ", " << values[i + 1] << ']';
  printer << ']';
}

void stablehlo::printWindowAttributes(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr strides,
                                      DenseIntElementsAttr padding, DenseI64ArrayAttr lhsDilation,
                                      DenseI64ArrayAttr rhsDilation, DenseBoolArrayAttr reversal) {
  StringRef separator = "";
  auto next = [&](bool isPresent) {
    if (isPresent)
      printer << std::exchange(separator, ", ");
    return isPresent;
  };
  auto printList = [&](StringRef name, auto list) {
    if (!next(static_cast<bool>(list)))
      return;
    printer << name << " = ";
    list.print(printer);
  };
  printList("stride", strides);
  if (next(static_cast<bool>(padding)))
    printPadding(printer, padding);
  printList("lhs_dilate", lhsDilation);
  printList("rhs_dilate", rhsDilation);
  printList("reverse", reversal);
}
