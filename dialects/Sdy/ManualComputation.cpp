// Text and verifier of sdy.manual_computation.
#include "dialects/Sdy/SdyDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::sdy;

static ParseResult parseNamedShardings(OpAsmParser &parser, StringRef name,
                                       OperationState &result) {
  SmallVector<TensorShardingAttr> shardings;
  if (parser.parseKeyword(name) || parser.parseEqual() || parseShardings(parser, shardings))
    return failure();
  result.addAttribute(name, TensorShardingPerValueAttr::get(parser.getContext(), shardings));
  return success();
}

ParseResult ManualComputationOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<OpAsmParser::Argument> arguments;
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parseNamedShardings(parser, "in_shardings", result) ||
      parseNamedShardings(parser, "out_shardings", result) || parser.parseKeyword("manual_axes") ||
      parser.parseEqual())
    return failure();
  Attribute axes = ManualAxesAttr::parse(parser, Type());
  if (!axes)
    return failure();
  result.addAttribute("manual_axes", axes);
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  result.addTypes(type.getResults());
  return parser.resolveOperands(operands, type.getInputs(), loc, result.operands);
}

static void printShardings(OpAsmPrinter &printer, StringRef name,
                           TensorShardingPerValueAttr shardings) {
  printer << ' ' << name << "=[";
  llvm::interleaveComma(shardings.getShardings(), printer,
                        [&](TensorShardingAttr sharding) { sharding.print(printer); });
  printer << ']';
}

void ManualComputationOp::print(OpAsmPrinter &printer) {
  printer << '(';
  printer.printOperands(getInputs());
  printer << ')';
  printShardings(printer, "in_shardings", getInShardings());
  printShardings(printer, "out_shardings", getOutShardings());
  printer << " manual_axes=";
  getManualAxes().print(printer);
  printer << " (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getDiscardableAttrs().empty() ? ArrayRef<NamedAttribute>()
                                                                       : (*this)->getAttrs(),
                                {"in_shardings", "out_shardings", "manual_axes"});
  printer << " : ";
  printer.printFunctionalType(getInputs().getTypes(), getResultTypes());
}

/// Checks that local values agree in number with the shardings and the global values, and have
/// their ranks and element types.
static LogicalResult verifySide(Operation *op, StringRef side, TypeRange global, TypeRange local,
                                TensorShardingPerValueAttr shardings) {
  if (global.size() != shardings.getShardings().size() || global.size() != local.size())
    return op->emitOpError("has ")
           << global.size() << " " << side << ", " << shardings.getShardings().size()
           << " shardings of them and " << local.size() << " in its body";
  for (auto [i, globalType, localType, sharding] :
       llvm::enumerate(global, local, shardings.getShardings())) {
    auto globalTensor = cast<RankedTensorType>(globalType);
    auto localTensor = dyn_cast<RankedTensorType>(localType);
    if (!localTensor || localTensor.getRank() != globalTensor.getRank() ||
        localTensor.getElementType() != globalTensor.getElementType() ||
        static_cast<int64_t>(sharding.getDims().size()) != globalTensor.getRank())
      return op->emitOpError("has ")
             << side << " " << i << " of type " << globalType << ", sharded " << sharding
             << ", and " << localType << " in its body";
  }
  return success();
}

LogicalResult ManualComputationOp::verify() {
  llvm::StringSet<> seen;
  for (StringAttr axis : getManualAxes().getAxes())
    if (!seen.insert(axis.getValue()).second)
      return emitOpError("names axis ") << axis << " twice";
  auto end = dyn_cast<ReturnOp>(getBody().front().getTerminator());
  if (!end)
    return emitOpError("expects a body that ends with sdy.return");
  return success(succeeded(verifySide(*this, "operands", getInputs().getTypes(),
                                      getBody().getArgumentTypes(), getInShardings())) &&
                 succeeded(verifySide(*this, "results", getResultTypes(),
                                      end.getResults().getTypes(), getOutShardings())));
}
