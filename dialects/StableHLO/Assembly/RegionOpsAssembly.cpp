//===- RegionOpsAssembly.cpp - Syntax of reduce and while -----------------===//

#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::stablehlo;

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

/// The only op of `op`'s body; null if the body must be printed in full: the short form contains
/// neither types nor operands.
static Operation *getShortBody(ReduceOp op) {
  if (op.getInputs().size() != 1 || op.getBody().empty())
    return nullptr;
  Block &block = op.getBody().front();
  if (block.getNumArguments() != 2 || !llvm::hasNItems(block, 2))
    return nullptr;
  Operation &inner = block.front(), &last = block.back();
  auto elementType = RankedTensorType::get({}, getElementTypeOrSelf(op.getInputs()[0].getType()));
  auto isElement = [&](Type type) { return type == elementType; };
  bool isPlain = inner.getName().getDialectNamespace() == StableHLODialect::getDialectNamespace() &&
                 inner.hasTrait<mlir::OpTrait::IsCommutative>() && inner.getNumRegions() == 0 &&
                 inner.getNumResults() == 1 && inner.getAttrs().empty() &&
                 last.getAttrs().empty() && isa<ReturnOp>(last);
  bool inOrder = llvm::equal(inner.getOperands(), block.getArguments()) &&
                 llvm::equal(last.getOperands(), inner.getResults());
  bool isTyped = llvm::all_of(block.getArgumentTypes(), isElement) &&
                 llvm::all_of(inner.getResultTypes(), isElement);
  return isPlain && inOrder && isTyped ? &inner : nullptr;
}

/// The long form pairs the arguments: the accumulated and the new value of
/// each input. The block has all accumulated ones first.
static void printReducer(OpAsmPrinter &printer, ReduceOp op) {
  printer.printNewline();
  printer << " reducer";
  Block &block = op.getBody().front();
  unsigned half = block.getNumArguments() / 2;
  for (unsigned i = 0; i != half; ++i) {
    printer << (i ? " (" : "(");
    printer.printRegionArgument(block.getArgument(i));
    printer << ", ";
    printer.printRegionArgument(block.getArgument(i + half));
    printer << ')';
  }
  printer << "  ";
  printer.printRegion(op.getBody(), /*printEntryBlockArgs=*/false);
}

void ReduceOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleave(
      llvm::zip(getInputs(), getInitValues()), printer,
      [&](auto pair) { printer << std::get<0>(pair) << " init: " << std::get<1>(pair); }, "), (");
  printer << ')';
  Operation *inner = getShortBody(*this);
  if (inner)
    printer << " applies " << inner->getName();
  printer << " across dimensions = [" << llvm::interleaved(getDimensions()) << ']';
  printer.printOptionalAttrDict((*this)->getAttrs(), {getDimensionsAttrName()});
  printer << " : ";
  printer.printFunctionalType(*this);
  if (!inner)
    printReducer(printer, *this);
}

/// Parses `(%x init: %i), (%y init: %j)`.
static ParseResult parseReduceOperands(OpAsmParser &parser,
                                       SmallVectorImpl<UnresolvedOperand> &operands) {
  SmallVector<UnresolvedOperand> inits;
  do {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  llvm::append_range(operands, inits);
  return success();
}

static ParseResult parseReducer(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> args, news;
  if (parser.parseKeyword("reducer"))
    return failure();
  while (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseArgument(args.emplace_back(), /*allowType=*/true) || parser.parseComma() ||
        parser.parseArgument(news.emplace_back(), /*allowType=*/true) || parser.parseRParen())
      return failure();
  }
  llvm::append_range(args, news);
  return parser.parseRegion(body, args);
}

/// Builds the body for `applies name`.
static ParseResult buildShortBody(OpAsmParser &parser, SMLoc nameLoc, OperationName name,
                                  Type inputType, Location loc, Region &body) {
  auto tensor = dyn_cast<RankedTensorType>(inputType);
  if (!tensor)
    return parser.emitError(nameLoc, "expected the type of a ranked tensor to reduce");
  if (name.getDialectNamespace() != StableHLODialect::getDialectNamespace() ||
      !name.hasTrait<mlir::OpTrait::IsCommutative>())
    return parser.emitError(nameLoc)
           << "expected a commutative op of stablehlo, got '" << name << "'";
  Type element = RankedTensorType::get({}, tensor.getElementType());
  OpBuilder builder(parser.getContext());
  Block *block = builder.createBlock(&body, {}, {element, element}, {loc, loc});
  Operation *inner =
      builder.create(loc, name.getIdentifier(), block->getArguments(), TypeRange(element));
  ReturnOp::create(builder, loc, inner->getResults());
  return success();
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<UnresolvedOperand> operands;
  SMLoc operandsLoc = parser.getCurrentLocation();
  if (parseReduceOperands(parser, operands))
    return failure();

  std::optional<OperationName> inner;
  SMLoc innerLoc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("applies"))) {
    innerLoc = parser.getCurrentLocation();
    FailureOr<OperationName> name = parser.parseCustomOperationName();
    if (failed(name))
      return failure();
    inner = *name;
  }

  DenseI64ArrayAttr dimensions;
  FunctionType signature;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") || parser.parseEqual() ||
      !(dimensions = dyn_cast_or_null<DenseI64ArrayAttr>(DenseI64ArrayAttr::parse(parser, {}))) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(signature) ||
      parser.resolveOperands(operands, signature.getInputs(), operandsLoc, result.operands))
    return failure();
  result.getOrAddProperties<Properties>().dimensions = dimensions;
  result.addTypes(signature.getResults());

  Region *body = result.addRegion();
  if (!inner)
    return parseReducer(parser, *body);
  return buildShortBody(parser, innerLoc, *inner, signature.getInput(0),
                        parser.getEncodedSourceLoc(innerLoc), *body);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

void WhileOp::print(OpAsmPrinter &printer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getOperand()), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " = " << std::get<1>(pair);
  });
  printer << ')';
  if (getNumOperands() != 0)
    printer << " : " << getOperand().getTypes();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printer.printNewline();
  printer << "cond ";
  printer.printRegion(getCond(), /*printEntryBlockArgs=*/false);
  printer << " do ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<UnresolvedOperand> operands;
  SmallVector<OpAsmParser::Argument> args;
  SMLoc loc = parser.getCurrentLocation();
  auto parseBinding = [&] {
    return failure(parser.parseArgument(args.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseBinding))
    return failure();

  SmallVector<Type> types;
  if (!operands.empty() && parser.parseColonTypeList(types))
    return failure();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  result.addTypes(types);
  for (auto [arg, type] : llvm::zip_equal(args, types))
    arg.type = type;
  return failure(parser.parseKeyword("cond") || parser.parseRegion(*result.addRegion(), args) ||
                 parser.parseKeyword("do") || parser.parseRegion(*result.addRegion(), args));
}

void WhileOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument arg : region.getArguments())
    setName(arg, "iterArg");
}
