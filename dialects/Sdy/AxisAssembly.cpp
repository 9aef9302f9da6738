#include "dialects/Sdy/AxisAssembly.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::sdy;

ParseResult sdy::parseAxes(AsmParser &parser, SmallVectorImpl<StringAttr> &axes, bool *open) {
  auto parseOne = [&]() -> ParseResult {
    if (open && succeeded(parser.parseOptionalQuestion())) {
      *open = true;
      return success();
    }
    std::string name;
    if (parser.parseString(&name))
      return failure();
    // `"a":(2)4`: the part of size 4 after major parts whose product is 2.
    int64_t before = 0, size = 0;
    if (succeeded(parser.parseOptionalColon())) {
      if (parser.parseLParen() || parser.parseInteger(before) || parser.parseRParen() ||
          parser.parseInteger(size))
        return failure();
      name += ":(" + std::to_string(before) + ")" + std::to_string(size);
    }
    axes.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseOne);
}

void sdy::printAxis(AsmPrinter &printer, StringRef axis) {
  size_t part = axis.find(":(");
  printer << '"' << axis.take_front(part) << '"' << axis.drop_front(std::min(part, axis.size()));
}

//===----------------------------------------------------------------------===//
// Axes of collectives
//===----------------------------------------------------------------------===//

static ArrayAttr toArray(MLIRContext *context, ArrayRef<StringAttr> axes) {
  return ArrayAttr::get(context, SmallVector<Attribute>(axes.begin(), axes.end()));
}

ParseResult sdy::parseAxisList(AsmParser &parser, ArrayAttr &axes) {
  SmallVector<StringAttr> names;
  if (parseAxes(parser, names, nullptr))
    return failure();
  axes = toArray(parser.getContext(), names);
  return success();
}

void sdy::printAxisList(OpAsmPrinter &printer, Operation *, ArrayAttr axes) {
  printer << "{";
  llvm::interleaveComma(axes.getAsRange<StringAttr>(), printer,
                        [&](StringAttr axis) { printAxis(printer, axis.getValue()); });
  printer << "}";
}

ParseResult sdy::parseAxisLists(AsmParser &parser, ArrayAttr &lists) {
  SmallVector<Attribute> each;
  auto parseOne = [&]() -> ParseResult {
    ArrayAttr axes;
    if (parseAxisList(parser, axes))
      return failure();
    each.push_back(axes);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  lists = ArrayAttr::get(parser.getContext(), each);
  return success();
}

void sdy::printAxisLists(OpAsmPrinter &printer, Operation *op, ArrayAttr lists) {
  printer << "[";
  llvm::interleaveComma(lists.getAsRange<ArrayAttr>(), printer,
                        [&](ArrayAttr axes) { printAxisList(printer, op, axes); });
  printer << "]";
}

ParseResult sdy::parseAxisMoves(AsmParser &parser, ArrayAttr &moves) {
  SmallVector<Attribute> each;
  Builder &builder = parser.getBuilder();
  auto parseOne = [&]() -> ParseResult {
    ArrayAttr axes;
    int64_t from = 0, to = 0;
    if (parseAxisList(parser, axes) || parser.parseColon() || parser.parseInteger(from) ||
        parser.parseArrow() || parser.parseInteger(to))
      return failure();
    each.push_back(builder.getArrayAttr(
        {axes, builder.getI64IntegerAttr(from), builder.getI64IntegerAttr(to)}));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  moves = builder.getArrayAttr(each);
  return success();
}

void sdy::printAxisMoves(OpAsmPrinter &printer, Operation *op, ArrayAttr moves) {
  printer << "[";
  llvm::interleaveComma(moves.getAsRange<ArrayAttr>(), printer, [&](ArrayAttr move) {
    printAxisList(printer, op, cast<ArrayAttr>(move[0]));
    printer << ": " << cast<IntegerAttr>(move[1]).getInt() << "->"
            << cast<IntegerAttr>(move[2]).getInt();
  });
  printer << "]";
}
