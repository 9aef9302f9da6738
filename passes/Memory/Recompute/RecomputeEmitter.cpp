#include "passes/Memory/Recompute/RecomputeEmitter.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::st;

void RecomputeEmitter::emit() {
  for (Value value : choice.dropped)
    droppedBySymbol[WriteOp(stage.getWrite(value)).getTarget()] = value;
  keepAdded();
  rewriteBackward();
  removeStashes();
}

/// Adds a stash for each value that replaces dropped ones, unless the forward task has read the
/// value from a stash.
void RecomputeEmitter::keepAdded() {
  Operation *last = nullptr;
  for (auto buffer : program.getOps<BufferOp>())
    last = buffer;
  unsigned number = 0;
  for (Value value : choice.added) {
    if (isa<ReadOp>(value.getDefiningOp()))
      continue;
    std::string name;
    do
      name = "stash" + std::to_string(number++);
    while (symbols.lookup(name));
    OpBuilder builder(program.getContext());
    builder.setInsertionPointAfter(last);
    last = BufferOp::create(builder, value.getLoc(), name, "stash", 1, value.getType(),
                            AddressAttr(), StringAttr());
    builder.setInsertionPointAfterValue(value);
    TaskOp forward = stage.getForward().getTask();
    kept[value] = WriteOp::create(builder, value.getLoc(), value,
                                  FlatSymbolRefAttr::get(program.getContext(), name),
                                  forward.getMicroBatch(), ReduceKindAttr());
  }
}

Value RecomputeEmitter::get(Value value, int64_t block, Consumer consumer) {
  const bool isSplit = splitsAttention && stage.getForward().isAttention(value.getDefiningOp());
  if (!isSplit)
    consumer = Consumer::Recomputed;
  auto &created = this->created[static_cast<int>(consumer)];
  if (Value known = created.lookup({value, block}))
    return known;
  TaskOp backward = stage.getBackward();
  auto read = [&](FlatSymbolRefAttr source, bool perMicroBatch) {
    return ReadOp::create(*body, value.getLoc(), value.getType(), source,
                          perMicroBatch ? Value(backward.getMicroBatch()) : Value());
  };
  WriteOp write = kept.lookup(value);
  if (!write && !choice.dropped.contains(value))
    write = stage.getWrite(value);
  if (write)
    return created[{value, block}] = read(write.getTargetAttr(), write.getMicroBatch() != nullptr);
  Operation *op = value.getDefiningOp();
  if (auto source = dyn_cast<ReadOp>(op))
    return created[{value, block}] =
               read(source.getSourceAttr(), source.getMicroBatch() != nullptr);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, get(operand, block, consumer));
  Operation *copy = body->clone(*op, mapping);
  ++numRecomputed;
  if (isSplit && consumer == Consumer::Recomputed)
    unshared.insert(copy);
  for (auto [original, again] : llvm::zip_equal(op->getResults(), copy->getResults()))
    created[{original, block}] = again;
  return created[{value, block}];
}

/// The backward task recomputes operands of the weight task once, and passes them on.
void RecomputeEmitter::passToWeightTask(int64_t block) {
  if (stage.getBackward() == stage.getWeight() || !passedBlocks.insert(block).second)
    return;
  for (Value value : choice.dropped) {
    if (!stage.isReadByWeight(value) || stage.getForward().getBlock(value.getDefiningOp()) != block)
      continue;
    TaskOp backward = stage.getBackward();
    WriteOp write = stage.getWrite(value);
    WriteOp::create(*body, value.getLoc(), get(value, block), write.getTargetAttr(),
                    write.getMicroBatch() ? Value(backward.getMicroBatch()) : Value(),
                    ReduceKindAttr());
  }
}

void RecomputeEmitter::replaceReads(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto read = operand.get().getDefiningOp<ReadOp>();
    Value dropped = read ? droppedBySymbol.lookup(read.getSource()) : Value();
    if (!dropped)
      continue;
    int64_t block = stage.getForward().getBlock(dropped.getDefiningOp());
    body->setInsertionPoint(op);
    operand.set(get(dropped, block, Consumer::Gradient));
    passToWeightTask(block);
  }
}

/// Moves values that the backward task computes only from dropped values, such as widened copies,
/// to their first use. Otherwise they would be the first to need the dropped values.
void RecomputeEmitter::sinkReadings(Block &block) {
  DenseSet<Operation *> readings;
  for (Operation &op : block) {
    if (!ForwardTask::isRepeatable(&op) || ForwardTask::isExpensive(&op) || op.getNumRegions() != 0)
      continue;
    bool readsDropped = false, readsOthers = false;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      auto read = dyn_cast_or_null<ReadOp>(producer);
      if (readings.contains(producer) || (read && droppedBySymbol.contains(read.getSource())))
        readsDropped = true;
      else if (!producer || !producer->hasTrait<OpTrait::ConstantLike>())
        readsOthers = true;
    }
    if (readsDropped && !readsOthers)
      readings.insert(&op);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!readings.contains(&op) || op.use_empty())
      continue;
    Operation *first = nullptr;
    for (Operation *user : op.getUsers()) {
      Operation *ancestor = block.findAncestorOpInBlock(*user);
      if (!first || ancestor->isBeforeInBlock(first))
        first = ancestor;
    }
    op.moveBefore(first);
  }
}

/// Returns success if two ops of the backward task are equal constants or equal reads.
static LogicalResult isSameReading(Value a, Value b) {
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (a == b)
    return success();
  if (!first || !second || (!isa<ReadOp>(first) && !first->hasTrait<OpTrait::ConstantLike>()))
    return failure();
  return success(
      OperationEquivalence::isEquivalentTo(first, second, OperationEquivalence::IgnoreLocations));
}

/// The backward task may compute the same values from the inputs of a recomputed block, such as
/// reciprocals of row sums. Creates each such value once, so that loops over the same rows can
/// fuse.
void RecomputeEmitter::shareReadings(Block &block) {
  DenseMap<Attribute, SmallVector<Operation *>> known; // by the mark of their block
  for (Operation &op : llvm::make_early_inc_range(block)) {
    Attribute mark = op.getDiscardableAttr(kBlockAttr);
    auto isRead = [](Value operand) {
      Operation *producer = operand.getDefiningOp();
      return producer && (isa<ReadOp>(producer) || producer->hasTrait<OpTrait::ConstantLike>());
    };
    if (!mark || unshared.contains(&op) || op.getNumResults() != 1 || op.getNumOperands() == 0 ||
        op.getNumRegions() != 0 || !ForwardTask::isRepeatable(&op) ||
        !llvm::all_of(op.getOperands(), isRead) ||
        llvm::none_of(op.getOperands(), [](Value v) { return v.getDefiningOp<ReadOp>(); }))
      continue;
    SmallVector<Operation *> &others = known[mark];
    auto same = llvm::find_if(others, [&](Operation *other) {
      return OperationEquivalence::isEquivalentTo(other, &op, isSameReading,
                                                  /*markEquivalent=*/nullptr,
                                                  OperationEquivalence::IgnoreLocations);
    });
    if (same == others.end()) {
      others.push_back(&op);
      continue;
    }
    op.getResult(0).replaceAllUsesWith((*same)->getResult(0));
    op.erase();
  }
}

/// A block is recomputed where the backward task first reads one of its dropped values, so that
/// only one block at a time needs memory.
void RecomputeEmitter::rewriteBackward() {
  TaskOp backward = stage.getBackward();
  Block &block = backward.getBody().front();
  sinkReadings(block);
  body.emplace(OpBuilder::atBlockEnd(&block));
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    replaceReads(op);
  body->setInsertionPointToEnd(&block);
  for (int64_t number : stage.getForward().getBlocks())
    passToWeightTask(number);
  shareReadings(block);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if ((isa<ReadOp>(op) || op.hasTrait<OpTrait::ConstantLike>()) && op.use_empty())
      op.erase();
}

void RecomputeEmitter::removeStashes() {
  for (Value value : choice.dropped) {
    WriteOp write = stage.getWrite(value);
    bool isHandedOn = stage.isReadByWeight(value) && stage.getBackward() != stage.getWeight();
    if (!isHandedOn)
      symbols.erase(symbols.lookup(write.getTarget()));
    write.erase();
  }
  TaskOp forward = stage.getForward().getTask();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(forward.getBody().front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}
