#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Interfaces/Notes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

LogicalResult ProgramOp::verify() {
  if (getStages().empty())
    return emitOpError("expects at least one stage");
  if (MeshOp mesh = mlir::st::getMesh(*this);
      mesh && static_cast<int64_t>(getDevices().size()) != mesh.getNumDevices())
    return withNote(emitOpError("has ") << getDevices().size() << " devices, expected "
                                        << mesh.getNumDevices() << ", one per position of the mesh",
                    mesh, "the mesh is here");
  ScheduleOp schedule;
  for (Operation &op : getBody().front()) {
    if (!isa<StateOp, InputOp, OutputOp, BufferOp, TaskOp, ScheduleOp>(op))
      return op.emitOpError("is not allowed directly in an st.program");
    auto other = dyn_cast<ScheduleOp>(op);
    if (other && schedule) {
      InFlightDiagnostic diagnostic = other.emitOpError("is a second schedule of its program");
      diagnostic.attachNote(schedule.getLoc()) << "the first is here";
      return diagnostic;
    }
    if (other)
      schedule = other;
  }
  return success();
}

// ---- storage --------------------------------------------------------------------

/// Checks that a device's part of a tensor matches its sharding.
static LogicalResult verifySlice(Operation *op, Type global, ShardingAttr sharding, Type local) {
  auto globalType = dyn_cast<RankedTensorType>(global);
  auto localType = dyn_cast<RankedTensorType>(local);
  if (!globalType || !localType)
    return op->emitOpError("expects tensor types, found ") << global << " and " << local;
  MeshOp mesh = getMesh(op);
  if (!mesh)
    return success();
  if (failed(verifyShardingFits(sharding, global, op, /*mayBeUneven=*/true)))
    return failure();
  if (!holdsParts(localType, globalType, sharding, mesh))
    return op->emitOpError("expects a local type that holds the largest part of ")
           << global << " split by " << sharding << ", found " << local;
  return success();
}

/// Checks that a name is one of a list.
static LogicalResult verifyOneOf(Operation *op, StringRef what, StringRef name,
                                 ArrayRef<StringRef> known) {
  if (llvm::is_contained(known, name))
    return success();
  return op->emitOpError("has unknown ")
         << what << " \"" << name << "\", expected one of " << llvm::join(known, ", ");
}

LogicalResult StateOp::verify() {
  if (failed(verifyOneOf(*this, "role", getRole(), {"parameter", "optimizer_state"})))
    return failure();
  return verifySlice(*this, getGlobalType(), getSharding(), getLocalType());
}

LogicalResult InputOp::verify() {
  if (failed(verifyOneOf(*this, "role", getRole(), {"batch", "key", "scalar"})) ||
      failed(verifySlice(*this, getGlobalType(), getSharding(), getLocalType())))
    return failure();
  int64_t dim = getMicroDim();
  if (dim < -1 || dim >= getSharding().getRank())
    return emitOpError("has micro_dim ")
           << dim << " of a tensor of rank " << getSharding().getRank();
  if (dim >= 0 && !llvm::is_contained(getSharding().getAxes(dim), MeshOp::kMicro))
    return emitOpError("has micro_dim ")
           << dim << ", which its sharding does not split over \"micro\"";
  return success();
}

LogicalResult OutputOp::verify() {
  return verifySlice(*this, getGlobalType(), getSharding(), getLocalType());
}

LogicalResult BufferOp::verify() {
  if (failed(verifyOneOf(*this, "kind", getKind(), {"stash", "accumulator", "step"})))
    return failure();
  int64_t slots = getSlots();
  if (slots < 1 || (slots > 1 && getKind() != "stash"))
    return emitOpError("has ") << slots << " slots, expected " << (slots < 1 ? "at least " : "")
                               << "1";
  // Accumulators, and values carried by a loop, must be in the device's memory.
  if (getSpace() && getKind() != "stash")
    return emitOpError("of kind \"") << getKind() << "\" is in space \"" << *getSpace()
                                     << "\"; expected this space only for kind \"stash\"";
  return getSpace() ? verifyOneOf(*this, "space", *getSpace(), {"host"}) : success();
}

/// Checks an access against the storage it names: the type, and whether it names a micro-batch.
static LogicalResult verifyAccess(Operation *op, SymbolTableCollection &symbols,
                                  FlatSymbolRefAttr name, Type type, bool hasMicroBatch) {
  Operation *storage = symbols.lookupSymbolIn(op->getParentOfType<ProgramOp>(), name);
  if (!isa_and_nonnull<StateOp, InputOp, OutputOp, BufferOp>(storage))
    return op->emitOpError("names ") << name << ", which is not storage of the program";
  Type stored;
  bool perMicroBatch = false;
  if (auto state = dyn_cast<StateOp>(storage)) {
    stored = state.getLocalType();
  } else if (auto input = dyn_cast<InputOp>(storage)) {
    stored = input.getLocalType();
    perMicroBatch = input.isPerMicroBatch();
  } else if (auto output = dyn_cast<OutputOp>(storage)) {
    stored = output.getLocalType();
    perMicroBatch = output.isPerMicroBatch();
  } else {
    stored = cast<BufferOp>(storage).getType();
    perMicroBatch = cast<BufferOp>(storage).isPerMicroBatch();
  }
  if (stored == type && perMicroBatch == hasMicroBatch)
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError();
  if (stored != type)
    diagnostic << "has type " << type << ", expected " << stored << " of " << name;
  else
    diagnostic << (hasMicroBatch ? "names a micro-batch of " : "expects a micro-batch of ") << name
               << (hasMicroBatch ? ", which has one value a step" : "");
  diagnostic.attachNote(storage->getLoc()) << "the storage is here";
  return diagnostic;
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyAccess(*this, symbols, getSourceAttr(), getType(), getMicroBatch() != nullptr);
}

LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyAccess(*this, symbols, getTargetAttr(), getValue().getType(),
                          getMicroBatch() != nullptr)))
    return failure();
  Operation *target =
      symbols.lookupSymbolIn((*this)->getParentOfType<ProgramOp>(), getTargetAttr());
  if (isa<InputOp>(target))
    return withNote(emitOpError("writes input ") << getTargetAttr(), target, "the storage is here");
  return success();
}

// ---- st.loop ------------------------------------------------------------------

LogicalResult LoopOp::verify() {
  if (getTrips().has_value() == getPredicate().has_value())
    return emitOpError("expects either a trip count or a predicate");
  if (getPredicate().has_value() != static_cast<bool>(getCondition()))
    return emitOpError("expects both a predicate and the condition of the first trip, or neither");
  if (getTrips() && static_cast<int64_t>(*getTrips()) < 0)
    return emitOpError("has ") << static_cast<int64_t>(*getTrips()) << " trips";
  if (getCarried().size() != getInits().size() || getInits().getTypes() != getResultTypes())
    return emitOpError("carries ")
           << getCarried().size() << " buffers, expected one for each of " << getInits().size()
           << " initial values and " << getNumResults() << " results, of the same types";
  return success();
}

LogicalResult LoopOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (auto [name, type] : llvm::zip_equal(getCarried(), getResultTypes())) {
    auto symbol = dyn_cast<FlatSymbolRefAttr>(name);
    if (!symbol)
      return emitOpError("expects names of buffers, got ") << name;
    if (failed(verifyAccess(*this, symbols, symbol, type, /*hasMicroBatch=*/false)))
      return failure();
  }
  if (getPredicateAttr())
    return verifyAccess(*this, symbols, getPredicateAttr(), getCondition().getType(), false);
  return success();
}

LogicalResult CaptureOp::verify() {
  auto captures = cast<LoopOp>((*this)->getParentOp()).getCaptures();
  int64_t index = getIndex();
  if (index < 0 || index >= static_cast<int64_t>(captures.size()))
    return emitOpError("names value ") << index << " of " << captures.size();
  if (captures[index].getType() != getType())
    return withNote(emitOpError("has type ")
                        << getType() << ", expected " << captures[index].getType(),
                    captures[index], "the value is defined here");
  return success();
}

// ---- st.task ------------------------------------------------------------------

LogicalResult TaskOp::verify() {
  if (failed(verifyOneOf(
          *this, "phase", getPhase(),
          {"prologue", "statistics", "totals", "forward", "backward", "weight", "update"})))
    return failure();
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
    if (!isa_and_nonnull<TaskOp>(
            SymbolTable::lookupSymbolIn(program, cast<FlatSymbolRefAttr>(task))))
      return withNote(emitOpError("names task ") << task << ", which the program does not have",
                      program, "the program is here");
  MeshOp mesh = mlir::st::getMesh(*this);
  for (int64_t microBatch : getMicroBatches())
    if (microBatch < 0 || (mesh && microBatch >= static_cast<int64_t>(mesh.getMicro())))
      return withNote(emitOpError("names micro-batch ") << microBatch << " of " << mesh.getMicro(),
                      mesh, "the mesh is here");
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
  if (failed(verifyOneOf(*this, "kind", getKind(),
                         {"matmul", "loop", "attention", "reduce", "copy", "gather", "scatter"})))
    return failure();
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
  if (parser.parseAttribute(kind, "kind", result.attributes))
    return failure();
  // Files written before the kind was renamed to "attention" have "chain".
  if (kind.getValue() == "chain")
    result.attributes.set("kind", parser.getBuilder().getStringAttr("attention"));
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseInput) ||
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
  llvm::interleaveComma(llvm::zip_equal(getBody().getArguments(), getInputs()), printer,
                        [&](auto input) {
                          printer << std::get<0>(input) << " = " << std::get<1>(input) << " : "
                                  << std::get<1>(input).getType();
                        });
  printer << ')';
  printer.printOptionalArrowTypeList(getResultTypes());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"kind"});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
