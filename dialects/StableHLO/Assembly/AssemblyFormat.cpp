//===- AssemblyFormat.cpp - Custom directives of stablehlo's syntax -------===//

#include "dialects/StableHLO/Assembly/AssemblyFormat.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::stablehlo;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Parses the types after the colon: one type, or a function type that is the full signature.
static ParseResult parseTypeOrSignature(OpAsmParser &parser, ArrayRef<Type *> types,
                                        llvm::function_ref<ParseResult(Type)> expand) {
  SMLoc loc = parser.getCurrentLocation();
  Type type;
  if (parser.parseType(type))
    return failure();
  auto signature = dyn_cast<FunctionType>(type);
  if (!signature)
    return expand(type);
  if (signature.getNumInputs() + 1 != types.size() || signature.getNumResults() != 1)
    return parser.emitError(loc) << "expected " << types.size() - 1
                                 << " operand types and 1 result type, got " << signature;
  for (auto [to, from] : llvm::zip(types.drop_back(), signature.getInputs()))
    *to = from;
  *types.back() = signature.getResult(0);
  return success();
}

static void printSignature(OpAsmPrinter &printer, ArrayRef<Type> types) {
  printer.printFunctionalType(types.drop_back(), types.take_back());
}

ParseResult stablehlo::parseSameTypes(OpAsmParser &parser, ArrayRef<Type *> types) {
  return parseTypeOrSignature(parser, types, [&](Type type) {
    for (Type *each : types)
      *each = type;
    return success();
  });
}

void stablehlo::printSameTypes(OpAsmPrinter &printer, ArrayRef<Type> types) {
  if (llvm::all_equal(types))
    printer << types.front();
  else
    printSignature(printer, types);
}

/// The type of the real part, null where `type` is no tensor of complex.
static Type partType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return complex ? tensor.clone(complex.getElementType()) : Type();
}

ParseResult stablehlo::parseComplexOpType(OpAsmParser &parser, Type &lhs, Type &rhs, Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  return parseTypeOrSignature(parser, {&lhs, &rhs, &result}, [&](Type type) -> ParseResult {
    result = type;
    lhs = rhs = partType(type);
    if (!lhs)
      return parser.emitError(loc) << "expected a tensor of complex, got " << type;
    return success();
  });
}

void stablehlo::printComplexOpType(OpAsmPrinter &printer, Operation *, Type lhs, Type rhs,
                                   Type result) {
  if (lhs == rhs && lhs == partType(result))
    printer << result;
  else
    printSignature(printer, {lhs, rhs, result});
}

ParseResult stablehlo::parseSelectOpType(OpAsmParser &parser, Type &pred, Type &onTrue,
                                         Type &onFalse, Type &result) {
  return parseTypeOrSignature(parser, {&pred, &onTrue, &onFalse, &result},
                              [&](Type type) -> ParseResult {
                                pred = type;
                                if (parser.parseComma() || parser.parseType(onTrue))
                                  return failure();
                                onFalse = result = onTrue;
                                return success();
                              });
}

void stablehlo::printSelectOpType(OpAsmPrinter &printer, Operation *, Type pred, Type onTrue,
                                  Type onFalse, Type result) {
  if (onTrue == onFalse && onTrue == result)
    printer << pred << ", " << onTrue;
  else
    printSignature(printer, {pred, onTrue, onFalse, result});
}

ParseResult stablehlo::parseTupleOpType(OpAsmParser &parser, SmallVectorImpl<Type> &operands,
                                        Type &result) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return failure();
  auto tuple = dyn_cast<TupleType>(result);
  if (!tuple)
    return parser.emitError(loc) << "expected a tuple type, got " << result;
  llvm::append_range(operands, tuple.getTypes());
  return success();
}

void stablehlo::printTupleOpType(OpAsmPrinter &printer, Operation *, TypeRange, Type result) {
  printer << result;
}

ParseResult stablehlo::parsePairwiseOpType(OpAsmParser &parser, SmallVectorImpl<Type> &operands,
                                           SmallVectorImpl<Type> &results) {
  if (parser.parseTypeList(operands))
    return failure();
  results.assign(operands.begin(), operands.end());
  return success();
}

void stablehlo::printPairwiseOpType(OpAsmPrinter &printer, Operation *, TypeRange operands,
                                    TypeRange) {
  printer << operands;
}

//===----------------------------------------------------------------------===//
// Operands and attributes
//===----------------------------------------------------------------------===//

ParseResult stablehlo::parseVariadicOperandWithAttribute(
    OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult more = parser.parseOptionalOperand(operand);
  while (more.has_value()) {
    if (failed(*more) || parser.parseComma())
      return failure();
    operands.push_back(operand);
    more = parser.parseOptionalOperand(operand);
  }
  return success();
}

void stablehlo::printVariadicOperandWithAttribute(OpAsmPrinter &printer, Operation *,
                                                  OperandRange operands) {
  // The next literal includes the space after the last comma.
  llvm::interleave(operands, printer, ", ");
  if (!operands.empty())
    printer << ',';
}

ParseResult stablehlo::parseSliceRanges(OpAsmParser &parser, DenseI64ArrayAttr &starts,
                                        DenseI64ArrayAttr &limits, DenseI64ArrayAttr &strides) {
  SmallVector<int64_t> start, limit, stride;
  auto parseRange = [&]() -> ParseResult {
    if (parser.parseInteger(start.emplace_back()) || parser.parseColon() ||
        parser.parseInteger(limit.emplace_back()))
      return failure();
    stride.push_back(1);
    if (succeeded(parser.parseOptionalColon()))
      return parser.parseInteger(stride.back());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseRange))
    return failure();
  starts = parser.getBuilder().getDenseI64ArrayAttr(start);
  limits = parser.getBuilder().getDenseI64ArrayAttr(limit);
  strides = parser.getBuilder().getDenseI64ArrayAttr(stride);
  return success();
}

void stablehlo::printSliceRanges(OpAsmPrinter &printer, Operation *, ArrayRef<int64_t> starts,
                                 ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  printer << '[';
  llvm::interleaveComma(llvm::zip(starts, limits, strides), printer, [&](auto range) {
    auto [start, limit, stride] = range;
    printer << start << ':' << limit;
    if (stride != 1)
      printer << ':' << stride;
  });
  printer << ']';
}

ParseResult stablehlo::parseExponentMantissa(OpAsmParser &parser, IntegerAttr &exponent,
                                             IntegerAttr &mantissa) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef format;
  if (parser.parseKeyword(&format))
    return failure();
  int32_t exponentBits = 0, mantissaBits = 0;
  StringRef rest = format;
  if (!rest.consume_front("e") || rest.consumeInteger(10, exponentBits) ||
      !rest.consume_front("m") || rest.consumeInteger(10, mantissaBits) || !rest.empty())
    return parser.emitError(loc) << "expected a format like e8m10, got '" << format << "'";
  exponent = parser.getBuilder().getI32IntegerAttr(exponentBits);
  mantissa = parser.getBuilder().getI32IntegerAttr(mantissaBits);
  return success();
}

void stablehlo::printExponentMantissa(OpAsmPrinter &printer, Operation *, IntegerAttr exponent,
                                      IntegerAttr mantissa) {
  printer << 'e' << exponent.getInt() << 'm' << mantissa.getInt();
}

/// `[..] x [..]`: dimensions of lhs and of rhs.
static ParseResult parseDimPairs(OpAsmParser &parser, SmallVectorImpl<int64_t> &lhs,
                                 SmallVectorImpl<int64_t> &rhs) {
  auto parseList = [&](SmallVectorImpl<int64_t> &dims) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                          [&] { return parser.parseInteger(dims.emplace_back()); });
  };
  return failure(parser.parseEqual() || parseList(lhs) || parser.parseKeyword("x") ||
                 parseList(rhs));
}

ParseResult stablehlo::parseDotDimensionNumbers(OpAsmParser &parser,
                                                DotDimensionNumbersAttr &numbers) {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
  if (succeeded(parser.parseOptionalKeyword("batching_dims")))
    if (parseDimPairs(parser, lhsBatching, rhsBatching) || parser.parseComma())
      return failure();
  if (parser.parseKeyword("contracting_dims") ||
      parseDimPairs(parser, lhsContracting, rhsContracting))
    return failure();
  numbers = DotDimensionNumbersAttr::get(parser.getContext(), lhsBatching, rhsBatching,
                                         lhsContracting, rhsContracting);
  return success();
}

void stablehlo::printDotDimensionNumbers(OpAsmPrinter &printer, Operation *,
                                         DotDimensionNumbersAttr numbers) {
  auto printPairs = [&](StringRef name, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
    printer << name << " = [" << llvm::interleaved(lhs) << "] x [" << llvm::interleaved(rhs) << ']';
  };
  if (!numbers.getLhsBatchingDimensions().empty() || !numbers.getRhsBatchingDimensions().empty()) {
    printPairs("batching_dims", numbers.getLhsBatchingDimensions(),
               numbers.getRhsBatchingDimensions());
    printer << ", ";
  }
  printPairs("contracting_dims", numbers.getLhsContractingDimensions(),
             numbers.getRhsContractingDimensions());
}

static ParseResult parsePrecisionConfig(OpAsmParser &parser, ArrayAttr &precision) {
  SmallVector<Attribute> precisions;
  auto parseOne = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    std::optional<Precision> value = symbolizePrecision(name);
    if (!value)
      return parser.emitError(loc) << "expected DEFAULT, HIGH or HIGHEST, got '" << name << "'";
    precisions.push_back(PrecisionAttr::get(parser.getContext(), *value));
    return success();
  };
  if (parser.parseEqual() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  precision = parser.getBuilder().getArrayAttr(precisions);
  return success();
}

ParseResult stablehlo::parsePrecisionConfigAndAlgorithm(OpAsmParser &parser, ArrayAttr &precision,
                                                        DotAlgorithmAttr &algorithm) {
  while (succeeded(parser.parseOptionalComma())) {
    SMLoc loc = parser.getCurrentLocation();
    StringRef keyword;
    if (parser.parseKeyword(&keyword))
      return failure();
    if (keyword == "precision" && !precision && !algorithm) {
      if (parsePrecisionConfig(parser, precision))
        return failure();
    } else if (keyword == "algorithm" && !algorithm) {
      Type noType;
      if (parser.parseEqual() || parser.parseCustomAttributeWithFallback(algorithm, noType))
        return failure();
    } else {
      return parser.emitError(loc) << "expected precision or algorithm, got '" << keyword << "'";
    }
  }
  return success();
}

void stablehlo::printPrecisionConfigAndAlgorithm(OpAsmPrinter &printer, Operation *,
                                                 ArrayAttr precision, DotAlgorithmAttr algorithm) {
  if (precision) {
    printer << ", precision = [";
    llvm::interleaveComma(precision.getAsRange<PrecisionAttr>(), printer, [&](PrecisionAttr each) {
      printer << stringifyPrecision(each.getValue());
    });
    printer << ']';
  }
  if (algorithm) {
    printer << ", algorithm = ";
    printer.printStrippedAttrOrType(algorithm);
  }
}

ParseResult stablehlo::parseCustomCallTarget(OpAsmParser &parser, StringAttr &target) {
  return parser.parseSymbolName(target);
}

void stablehlo::printCustomCallTarget(OpAsmPrinter &printer, Operation *, StringAttr target) {
  printer.printSymbolName(target.getValue());
}
