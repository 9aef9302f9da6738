#include "passes/Pipeline/ProgramEmitter.h"
#include "dialects/St/IR/NamedRows.h"
#include "dialects/St/IR/StackedState.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Pipeline/Recompute.h"

using namespace mlir;
using namespace mlir::st;

TransferChannels::TransferChannels(const TaskAnalysis &analysis) {
  for (Operation *op : analysis.getOps())
    if (isa<TransferOp>(op))
      channels.try_emplace(op, channels.size());
}

FlatSymbolRefAttr mlir::st::getGroupSymbol(MLIRContext *context, int64_t group) {
  return FlatSymbolRefAttr::get(context, ("group" + Twine(group)).str());
}

LogicalResult ProgramEmitter::emit(OpBuilder &builder, MeshOp mesh, ArrayRef<int64_t> devices,
                                   int64_t firstRank) {
  meshSymbol = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  auto program = ProgramOp::create(builder, analysis.getFunction().getLoc(),
                                   getGroupSymbol(builder.getContext(), plan.getGroup()).getAttr(),
                                   builder.getDenseI64ArrayAttr(plan.getStages()),
                                   builder.getDenseI64ArrayAttr(devices),
                                   builder.getI64IntegerAttr(firstRank), meshSymbol);
  OpBuilder inside = OpBuilder::atBlockEnd(&program.getBody().emplaceBlock());
  numberParameters();
  emitArguments(inside);
  emitOutputs(inside);
  emitBuffers(inside);
  for (TaskPlan &planned : plan.getTasks())
    emitTask(inside, planned);
  return success();
}

FlatSymbolRefAttr ProgramEmitter::uniqueSymbol(const Twine &base) {
  std::string name = base.str();
  for (unsigned i = 1; !symbols.insert(name).second; ++i)
    name = (base + "_" + Twine(i)).str();
  return FlatSymbolRefAttr::get(meshSymbol.getContext(), name);
}

// ---- storage --------------------------------------------------------------------

/// A parameter's random stream is its index among the model's parameters. It must not depend on the
/// layout, so copies of a parameter on several stages count once.
void ProgramEmitter::numberParameters() {
  func::FuncOp function = analysis.getFunction();
  for (BlockArgument argument : function.getArguments())
    if (getRole(argument) == "parameter")
      parameterNumbers.try_emplace(externalName(function.getArgAttrDict(argument.getArgNumber())),
                                   parameterNumbers.size());
}

std::optional<int64_t> ProgramEmitter::getAliasedResult(BlockArgument argument) const {
  auto alias = analysis.getFunction().getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                                    "tf.aliasing_output");
  return alias ? std::optional<int64_t>(alias.getInt()) : std::nullopt;
}

/// An attribute of an argument or result, or a default.
template <typename T> static T getOr(DictionaryAttr attributes, StringRef name, T otherwise) {
  auto found = attributes ? attributes.getAs<T>(name) : T();
  return found ? found : otherwise;
}

static ShardingAttr getShardingOf(DictionaryAttr attributes, Type type, FlatSymbolRefAttr mesh) {
  return getOr(attributes, kShardingAttr,
               ShardingAttr::getReplicated(mesh, cast<RankedTensorType>(type).getRank()));
}

void ProgramEmitter::emitState(OpBuilder &builder, BlockArgument argument,
                               DictionaryAttr attributes) {
  auto name = attributes.getAs<StringAttr>(kNameAttr);
  auto role = attributes.getAs<StringAttr>(kRoleAttr);
  FlatSymbolRefAttr symbol = uniqueSymbol(name.getValue());
  auto localType = TypeAttr::get(argument.getType());
  IntegerAttr stream;
  if (role.getValue() == "parameter")
    stream = builder.getI64IntegerAttr(parameterNumbers.lookup(externalName(attributes)));
  auto state = StateOp::create(builder, argument.getLoc(), symbol.getAttr(), name, role,
                               getOr(attributes, kOfAttr, builder.getStringAttr("")),
                               getOr(attributes, kGlobalTypeAttr, localType),
                               getShardingOf(attributes, argument.getType(), meshSymbol), localType,
                               attributes.getAs<DictionaryAttr>(kInitAttr), stream, AddressAttr());
  for (StringRef key : {StringRef(kStackAttr), StringRef(kNamedRowsAttr)})
    if (Attribute value = attributes.get(key))
      state->setAttr(key, value);
  storage[argument] = {symbol, false};
  if (std::optional<int64_t> result = getAliasedResult(argument))
    resultStorage[*result] = storage[argument];
}

void ProgramEmitter::emitInput(OpBuilder &builder, BlockArgument argument,
                               DictionaryAttr attributes) {
  auto name = attributes.getAs<StringAttr>(kNameAttr);
  FlatSymbolRefAttr symbol = uniqueSymbol(name.getValue());
  auto localType = TypeAttr::get(argument.getType());
  ShardingAttr sharding = getShardingOf(attributes, argument.getType(), meshSymbol);
  int64_t microDim = TaskAnalysis::getMicroDim(sharding);
  auto input = InputOp::create(builder, argument.getLoc(), symbol.getAttr(), name,
                               attributes.getAs<StringAttr>(kRoleAttr),
                               getOr(attributes, kGlobalTypeAttr, localType), sharding, localType,
                               builder.getI64IntegerAttr(microDim), AddressAttr());
  if (Attribute limit = attributes.get("st.limit"))
    input->setAttr("st.limit", limit);
  storage[argument] = {symbol, microDim >= 0};
}

void ProgramEmitter::emitArguments(OpBuilder &builder) {
  func::FuncOp function = analysis.getFunction();
  for (BlockArgument argument : function.getArguments()) {
    DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
    auto stage = attributes.getAs<IntegerAttr>(kStageAttr);
    if (!plan.hasStage(stage ? stage.getInt() : 0))
      continue;
    StringRef role = attributes.getAs<StringAttr>(kRoleAttr).getValue();
    if (role == "parameter" || role == "optimizer_state")
      emitState(builder, argument, attributes);
    else
      emitInput(builder, argument, attributes);
  }
}

void ProgramEmitter::emitOutputs(OpBuilder &builder) {
  func::FuncOp function = analysis.getFunction();
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    DictionaryAttr attributes = function.getResultAttrDict(number);
    auto stage = getOr(attributes, kStageAttr, builder.getI64IntegerAttr(0));
    if (!plan.hasStage(stage.getInt()) || resultStorage.contains(number))
      continue;
    auto role = getOr(attributes, kRoleAttr, builder.getStringAttr("metric"));
    auto name = getOr(attributes, kNameAttr, builder.getStringAttr("result" + Twine(number)));
    FlatSymbolRefAttr symbol = uniqueSymbol(name.getValue());
    auto localType = TypeAttr::get(value.getType());
    auto output = OutputOp::create(builder, value.getLoc(), symbol.getAttr(), name, role,
                                   getOr(attributes, kGlobalTypeAttr, localType),
                                   getShardingOf(attributes, value.getType(), meshSymbol),
                                   localType, AddressAttr());
    resultStorage[number] = {symbol, output.isPerMicroBatch()};
  }
}

void ProgramEmitter::emitBuffers(OpBuilder &builder) {
  auto add = [&](Value value, StringRef kind, unsigned number, bool perMicroBatch) {
    FlatSymbolRefAttr symbol = uniqueSymbol(kind + Twine(number));
    BufferOp::create(builder, value.getLoc(), symbol.getAttr(), builder.getStringAttr(kind),
                     builder.getI64IntegerAttr(1), TypeAttr::get(value.getType()), AddressAttr(),
                     StringAttr());
    storage[value] = {symbol, perMicroBatch};
  };
  unsigned accumulators = 0, stashes = 0, steps = 0;
  for (AccumulateOp op : plan.getAccumulations())
    add(op, "accumulator", accumulators++, false);
  DenseSet<Value> readInLoop;
  for (const TaskPlan &planned : plan.getTasks())
    if (isPerMicroBatch(planned.phase))
      readInLoop.insert_range(planned.fromBuffers);
  // A value needs one slot if it is equal for all micro-batches, even if each computes it, or if
  // only the update reads it.
  for (Value value : plan.getBuffered()) {
    Operation *op = value.getDefiningOp();
    bool ofMicroBatch = analysis.getMicroBatches() > 1 ? analysis.varies(op)
                                                       : analysis.getPhase(op) != Phase::Prologue;
    bool stash = ofMicroBatch && readInLoop.contains(value);
    add(value, stash ? "stash" : "step", stash ? stashes++ : steps++, stash);
  }
}

// ---- tasks ----------------------------------------------------------------------

void ProgramEmitter::emitTask(OpBuilder &builder, TaskPlan &plannedTask) {
  bool clears = plannedTask.phase == Phase::Prologue && analysis.getMicroBatches() > 1 &&
                !plan.getAccumulations().empty();
  if (!clears && llvm::none_of(plannedTask.items, [&](const TaskItem &item) {
        return item.kind != TaskItem::Compute || plannedTask.live.contains(item.op);
      }))
    return;
  task = &plannedTask;
  StringRef phase = getPhaseName(task->phase);
  FlatSymbolRefAttr symbol =
      uniqueSymbol(isPerMicroBatch(task->phase) ? phase + Twine(task->stage) : Twine(phase));
  taskOp = TaskOp::create(builder, analysis.getFunction().getLoc(), symbol.getAttr(),
                          builder.getStringAttr(phase), builder.getI64IntegerAttr(task->stage));
  Block &block = taskOp.getBody().emplaceBlock();
  block.addArgument(builder.getIndexType(), taskOp.getLoc());
  body = OpBuilder::atBlockEnd(&block);
  mapping.clear();
  axisIndices.clear();
  if (clears)
    clearAccumulators();
  for (const TaskItem &item : task->items)
    emitItem(item);
  emitResults();
}

/// The identity of a reduction.
static Attribute getIdentity(ReduceKind kind, Type type) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    APFloat value = kind == ReduceKind::Max   ? APFloat::getInf(semantics, /*Negative=*/true)
                    : kind == ReduceKind::Min ? APFloat::getInf(semantics)
                                              : APFloat::getZero(semantics);
    return FloatAttr::get(type, value);
  }
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = type.isUnsignedInteger() || width == 1;
  switch (kind) {
  case ReduceKind::Max:
    return IntegerAttr::get(type, isUnsigned ? APInt::getMinValue(width)
                                             : APInt::getSignedMinValue(width));
  case ReduceKind::Min:
    return IntegerAttr::get(type, isUnsigned ? APInt::getMaxValue(width)
                                             : APInt::getSignedMaxValue(width));
  case ReduceKind::And:
    return IntegerAttr::get(type, APInt::getAllOnes(width));
  case ReduceKind::Sum:
  case ReduceKind::Or:
    return IntegerAttr::get(type, APInt::getZero(width));
  }
  llvm_unreachable("unknown kind of reduction");
}

void ProgramEmitter::clearAccumulators() {
  for (AccumulateOp op : plan.getAccumulations()) {
    auto type = cast<RankedTensorType>(op.getType());
    Attribute identity = getIdentity(op.getKind(), type.getElementType());
    auto constant =
        stablehlo::ConstantOp::create(*body, op.getLoc(), DenseElementsAttr::get(type, identity));
    write(constant, storage[op.getResult()]);
  }
}

/// The storage from which a value that the task does not compute was read; null for others.
static FlatSymbolRefAttr getSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  auto read = value.getDefiningOp<ReadOp>();
  return read ? read.getSourceAttr() : FlatSymbolRefAttr();
}

bool ProgramEmitter::overwrites(FlatSymbolRefAttr state) {
  return llvm::any_of(task->items, [&](const TaskItem &item) {
    return item.kind == TaskItem::Result && resultStorage[item.resultNumber].symbol == state;
  });
}

void ProgramEmitter::emitItem(const TaskItem &item) {
  switch (item.kind) {
  case TaskItem::Compute: {
    if (!task->live.contains(item.op))
      return;
    if (!isa<TransferOp>(item.op)) {
      copyOp(item.op, item.op->getResult(0));
      return;
    }
    // A receive waits, so it is placed where its value is first needed; for a buffer, that is here.
    if (llvm::any_of(item.op->getResults(),
                     [&](Value v) { return plan.getBuffered().contains(v); }))
      get(item.op->getResult(0));
    return;
  }
  case TaskItem::Send: {
    auto transfer = cast<TransferOp>(item.op);
    Value sent = get(transfer.getOperand());
    // It may still be in transit when the task writes its results.
    if (FlatSymbolRefAttr source = getSource(sent); source && overwrites(source))
      sent = copy(sent);
    SendOp::create(*body, item.op->getLoc(), sent,
                   getGroupSymbol(item.op->getContext(), analysis.getGroup(transfer.getTarget())),
                   body->getI64IntegerAttr(channels.lookup(transfer)));
    return;
  }
  case TaskItem::Accumulate:
    emitAccumulate(cast<AccumulateOp>(item.op));
    return;
  case TaskItem::Result:
    return; // once no op reads the previous state any more
  }
}

namespace {
/// A result to be written, and the storage that holds its value if no op computes it.
struct PendingWrite {
  unsigned number;
  Value value;
  FlatSymbolRefAttr target, source;
};
} // namespace

/// A computed copy of a value: a select between it and itself.
Value ProgramEmitter::copy(Value value) {
  auto type = cast<RankedTensorType>(value.getType()).clone(body->getI1Type());
  auto isChosen =
      stablehlo::ConstantOp::create(*body, value.getLoc(), DenseElementsAttr::get(type, true));
  return stablehlo::SelectOp::create(*body, value.getLoc(), isChosen, value, value);
}

/// State that is replaced by other state, such as previous weights by current ones, is read before
/// it is overwritten. Of states that are exchanged, one is copied.
void ProgramEmitter::emitResults() {
  SmallVector<PendingWrite> pending;
  for (const TaskItem &item : task->items) {
    if (item.kind != TaskItem::Result)
      continue;
    Value value = item.getOperands().front();
    FlatSymbolRefAttr target = resultStorage[item.resultNumber].symbol;
    auto kept = storage.find(value);
    // A state that the step does not change needs no write.
    if (kept != storage.end() && kept->second.symbol == target)
      continue;
    Value own = get(value);
    pending.push_back({item.resultNumber, own, target, getSource(own)});
  }
  while (!pending.empty()) {
    auto isRead = [&](const PendingWrite &write) {
      return llvm::any_of(pending, [&](const PendingWrite &other) {
        return &other != &write && other.source == write.target;
      });
    };
    auto *next = llvm::find_if_not(pending, isRead);
    if (next == pending.end()) {
      next = pending.begin();
      next->value = copy(next->value);
      next->source = {};
      continue;
    }
    write(next->value, resultStorage[next->number]);
    pending.erase(next);
  }
}

void ProgramEmitter::emitAccumulate(AccumulateOp op) {
  auto kind = ReduceKindAttr::get(op.getContext(), op.getKind());
  bool once = analysis.getMicroBatches() == 1;
  write(get(op.getOperand()), storage[op.getResult()], once ? ReduceKindAttr() : kind);
}

Value ProgramEmitter::get(Value value) {
  value = analysis.resolve(value);
  if (Value known = mapping.lookupOrNull(value))
    return known;
  bool fromStorage = !analysis.getValuePhase(value) || task->fromBuffers.contains(value);
  if (fromStorage) {
    Value result = read(storage[value], value.getType());
    mapping.map(value, result);
    return result;
  }
  Operation *op = value.getDefiningOp();
  auto transfer = dyn_cast<TransferOp>(op);
  if (!transfer)
    return copyOp(op, value);
  auto received =
      RecvOp::create(*body, op->getLoc(), value.getType(),
                     getGroupSymbol(op->getContext(), analysis.getGroup(transfer.getSource())),
                     body->getI64IntegerAttr(channels.lookup(transfer)));
  mapping.map(value, received);
  writeBuffers(op);
  return received;
}

Value ProgramEmitter::copyOp(Operation *op, Value value) {
  // Each op that slices along an axis queries the index. A task needs only one query.
  if (auto index = dyn_cast<AxisIndexOp>(op)) {
    Value &known = axisIndices[{index.getAxisAttr(), index.getShift()}];
    if (!known)
      known = AxisIndexOp::create(*body, op->getLoc(), index.getType(), index.getAxis(),
                                  index.getMesh(), index.getShift());
    mapping.map(value, known);
    writeBuffers(op);
    return known;
  }
  for (Value operand : op->getOperands())
    mapping.map(operand, get(operand));
  Operation *copy = body->clone(*op, mapping);
  copy->removeDiscardableAttr(kStageAttr);
  copy->removeDiscardableAttr(kShardingAttr);
  writeBuffers(op);
  return mapping.lookup(value);
}

void ProgramEmitter::writeBuffers(Operation *op) {
  // A value that is recomputed in a later task is not written to the buffer.
  if (!plan.isComputedIn(*task, op->getResult(0)))
    return;
  for (Value result : op->getResults())
    if (plan.getBuffered().contains(result))
      write(mapping.lookup(result), storage[result]);
}

Value ProgramEmitter::read(const Storage &source, Type type) {
  Value microBatch = source.perMicroBatch ? Value(taskOp.getMicroBatch()) : Value();
  return ReadOp::create(*body, taskOp.getLoc(), type, source.symbol, microBatch);
}

void ProgramEmitter::write(Value value, const Storage &target, ReduceKindAttr accumulate) {
  Value microBatch = target.perMicroBatch ? Value(taskOp.getMicroBatch()) : Value();
  WriteOp::create(*body, value.getLoc(), value, target.symbol, microBatch, accumulate);
}
