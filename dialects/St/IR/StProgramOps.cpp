#include "dialects/St/IR/StDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::st;

LogicalResult ProgramOp::verify() {
  if (getDevices().empty())
    return emitOpError("expects at least one device");
  for (Operation &op : getBody().front())
    if (!isa<StateOp, InputOp, OutputOp, BufferOp, TaskOp, ScheduleOp>(op))
      return op.emitOpError("is not allowed directly in an st.program");
  return success();
}

// ---- st.task ------------------------------------------------------------------

LogicalResult TaskOp::verify() {
  static constexpr llvm::StringLiteral phases[] = {"prologue", "statistics", "forward", "backward", "update"};
  if (!llvm::is_contained(phases, getPhase()))
    return emitOpError("has unknown phase \"") << getPhase()
           << "\", expected prologue, statistics, forward, backward or update";
  Block &block = getBody().front();
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isIndex())
    return emitOpError("expects one index argument, the micro-batch");
  return success();
}

ParseResult TaskOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  StringRef phase;
  int64_t stage;
  OpAsmParser::Argument argument;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) || parser.parseKeyword(&phase) ||
      parser.parseKeyword("stage") || parser.parseInteger(stage) || parser.parseLParen() ||
      parser.parseArgument(argument) || parser.parseRParen() ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  argument.type = parser.getBuilder().getIndexType();
  result.addAttribute("phase", parser.getBuilder().getStringAttr(phase));
  result.addAttribute("stage", parser.getBuilder().getI64IntegerAttr(stage));
  return parser.parseRegion(*result.addRegion(), {argument});
}

void TaskOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << ' ' << getPhase() << " stage " << getStage() << " (" << getMicroBatch() << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name", "phase", "stage"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

// ---- st.schedule --------------------------------------------------------------

LogicalResult ScheduleOp::verify() {
  if (getTasks().size() != getMicroBatches().size())
    return emitOpError("has ") << getTasks().size() << " tasks and " << getMicroBatches().size()
                               << " micro-batches";
  auto program = cast<ProgramOp>((*this)->getParentOp());
  for (Attribute task : getTasks())
    if (!SymbolTable::lookupSymbolIn(program, cast<FlatSymbolRefAttr>(task)))
      return emitOpError("names task ") << task << ", which the program does not have";
  return success();
}

ParseResult ScheduleOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr kind;
  SmallVector<Attribute> tasks;
  SmallVector<int64_t> microBatches;
  auto parseEntry = [&]() -> ParseResult {
    FlatSymbolRefAttr task;
    int64_t microBatch;
    if (parser.parseAttribute(task) || parser.parseInteger(microBatch))
      return failure();
    tasks.push_back(task);
    microBatches.push_back(microBatch);
    return success();
  };
  if (parser.parseAttribute(kind) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  result.addAttribute("kind", kind);
  result.addAttribute("tasks", parser.getBuilder().getArrayAttr(tasks));
  result.addAttribute("micro_batches", parser.getBuilder().getDenseI64ArrayAttr(microBatches));
  return success();
}

void ScheduleOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getKindAttr() << " [";
  llvm::interleaveComma(llvm::zip_equal(getTasks(), getMicroBatches()), printer, [&](auto entry) {
    printer << std::get<0>(entry) << ' ' << std::get<1>(entry);
  });
  printer << "]";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"kind", "tasks", "micro_batches"});
}

// ---- st.kernel ----------------------------------------------------------------

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("expects the body's arguments to have the types of the inputs");
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError("expects an st.yield of the result types");
  return success();
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr kind;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types, resultTypes;
  auto parseInput = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()) ||
                   parser.parseColonType(types.emplace_back()));
  };
  if (parser.parseAttribute(kind, "kind", result.attributes) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseInput) ||
      parser.parseOptionalArrowTypeList(resultTypes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
      parser.resolveOperands(operands, types, parser.getCurrentLocation(), result.operands))
    return failure();
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  result.addTypes(resultTypes);
  return parser.parseRegion(*result.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getKindAttr() << " (";
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getInputs()), printer, [&](auto input) {
    printer << std::get<0>(input) << " = " << std::get<1>(input) << " : " << std::get<1>(input).getType();
  });
  printer << ')';
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"kind"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
