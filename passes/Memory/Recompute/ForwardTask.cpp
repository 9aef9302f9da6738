#include "passes/Memory/Recompute/ForwardTask.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Collectives.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Memory/MemoryUtils.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::st;

// ---- dependences of values ------------------------------------------------------

unsigned ValueSources::compute(Operation *op, const llvm::StringMap<unsigned> &storage) const {
  if (auto read = dyn_cast<ReadOp>(op))
    return storage.lookup(read.getSource());
  if (isa<RecvOp>(op))
    return kBatch | kState;
  unsigned all = 0;
  for (Value operand : op->getOperands())
    all |= lookup(operand);
  return all;
}

ValueSources::ValueSources(ProgramOp program) {
  llvm::StringMap<unsigned> storage;
  for (auto state : program.getOps<StateOp>())
    storage[state.getSymName()] = kState;
  for (auto input : program.getOps<InputOp>())
    storage[input.getSymName()] = kBatch;
  // Tasks are in an order in which they may run: tasks that write a buffer come before those that
  // read it.
  for (auto task : program.getOps<TaskOp>())
    for (Operation &op : task.getBody().front()) {
      unsigned own = compute(&op, storage);
      for (Value result : op.getResults())
        sources[result] = own;
      if (auto write = dyn_cast<WriteOp>(op))
        storage[write.getTarget()] |= lookup(write.getValue());
    }
}

// ---- ops ------------------------------------------------------------------------

bool ForwardTask::isRepeatable(Operation *op) {
  return !isa<ReadOp, RecvOp, stablehlo::WhileOp>(op) && isMemoryEffectFree(op);
}

static bool isProduct(Operation *op) {
  return isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op);
}

bool ForwardTask::isExpensive(Operation *op) { return isProduct(op) || isCollective(op); }

// ---- the task -------------------------------------------------------------------

ForwardTask::ForwardTask(TaskOp task, const ValueSources &sources) : task(task), sources(&sources) {
  assignBlocks();
  findLayers();
  findAttention();
  findGathered();
}

/// Activations flow only within a block or to later blocks, even if the marks disagree.
void ForwardTask::assignBlocks() {
  auto markOf = [](Operation &op) -> std::optional<int64_t> {
    auto mark = op.getAttrOfType<IntegerAttr>(kBlockAttr);
    return mark ? std::optional<int64_t>(mark.getInt()) : std::nullopt;
  };
  Block &body = task.getBody().front();
  for (Operation &op : body) {
    if (op.getNumResults() == 0 || !isActivation(op.getResult(0)))
      continue;
    std::optional<int64_t> block = markOf(op);
    for (Value operand : op.getOperands())
      if (auto found = blockOf.find(operand.getDefiningOp());
          found != blockOf.end() && isActivation(operand))
        block = std::max(block.value_or(found->second), found->second);
    if (block)
      blockOf[&op] = *block;
  }
  for (Operation &op : body) {
    auto own = blockOf.find(&op);
    if (!isa<AllGatherOp>(op) || own == blockOf.end())
      continue;
    std::optional<int64_t> first;
    for (Operation *user : op.getUsers())
      if (auto found = blockOf.find(user); found != blockOf.end())
        first = std::min(first.value_or(found->second), found->second);
    own->second = first.value_or(own->second);
  }
  for (Operation &op : llvm::reverse(body)) {
    if (op.getNumResults() == 0 || blockOf.contains(&op))
      continue;
    std::optional<int64_t> block = markOf(op);
    for (Operation *user : op.getUsers())
      if (auto found = blockOf.find(user); found != blockOf.end() && !markOf(op))
        block = std::min(block.value_or(found->second), found->second);
    blockOf[&op] = block.value_or(0);
  }
  for (auto [op, block] : blockOf)
    blocks.push_back(block);
  llvm::sort(blocks);
  blocks.erase(llvm::unique(blocks), blocks.end());
}

bool ForwardTask::isReadLater(Value value) const {
  int64_t block = getBlock(value.getDefiningOp());
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return user->getNumResults() > 0 && getBlock(user) > block;
  });
}

void ForwardTask::findLayers() {
  auto isLeft = [&](Value value) {
    return isActivation(value) &&
           (isReadLater(value) ||
            llvm::any_of(value.getUsers(), [](Operation *user) { return isa<SendOp>(user); }));
  };
  for (Operation &op : task.getBody().front()) {
    if (op.getNumResults() == 0)
      continue;
    int64_t block = getBlock(&op);
    bool isEntered = isa<RecvOp, ReadOp>(op) && isActivation(op.getResult(0));
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        isEntered |= isActivation(operand) && getBlock(producer) < block;
    if (isEntered)
      withInput.insert(block);
    if (llvm::any_of(op.getResults(), isLeft))
      withOutput.insert(block);
  }
}

void ForwardTask::findGathered() {
  for (Operation &op : task.getBody().front()) {
    bool isGather = isa<AllGatherOp>(op) && isActivation(op.getResult(0));
    bool isMove = isa<stablehlo::ReshapeOp, stablehlo::TransposeOp, stablehlo::ConvertOp>(op);
    if (isGather || (isMove && gathered.contains(op.getOperand(0).getDefiningOp())))
      gathered.insert(&op);
  }
}

// ---- attention ------------------------------------------------------------------

/// Returns true if an op multiplies activations with activations, with batch dimensions.
bool ForwardTask::isActivationProduct(Operation *op) const {
  auto dot = dyn_cast<stablehlo::DotGeneralOp>(op);
  return dot && !dot.getDotDimensionNumbers().getLhsBatchingDimensions().empty() &&
         isActivation(dot.getLhs()) && isActivation(dot.getRhs());
}

/// Sums and maxima of rows: small to keep, but expensive to recompute, because that needs the rows.
static bool isRowStatistic(Operation *op) {
  constexpr int64_t kMinRow = 16;
  auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
  return reduce && reduce.getInputs().size() == 1 &&
         cast<RankedTensorType>(reduce.getResult(0).getType()).getNumElements() * kMinRow <=
             cast<RankedTensorType>(reduce.getInputs()[0].getType()).getNumElements();
}

void ForwardTask::findAttention() {
  DenseSet<Operation *> leads; // leads to a product of activations, without a product in between
  Block &body = task.getBody().front();
  auto isOfSameBlock = [&](Operation *op, Operation *user) {
    return user->getNumResults() > 0 && getBlock(user) == getBlock(op);
  };
  for (Operation &op : llvm::reverse(body))
    if (isRepeatable(&op) && llvm::any_of(op.getUsers(), [&](Operation *user) {
          return isOfSameBlock(&op, user) &&
                 (isActivationProduct(user) || (!isProduct(user) && leads.contains(user)));
        }))
      leads.insert(&op);
  DenseSet<Operation *> follow; // follows a product of activations
  for (Operation &op : body)
    if (leads.contains(&op) &&
        (isActivationProduct(&op) ||
         (!isProduct(&op) && llvm::any_of(op.getOperands(), [&](Value operand) {
           return isActivation(operand) && follow.contains(operand.getDefiningOp());
         })))) {
      follow.insert(&op);
      (isRowStatistic(&op) ? statistics : attention).insert(&op);
    }
  // Ops whose results are only stashed, such as a conversion to fewer bits.
  for (Operation &op : llvm::reverse(body))
    if (op.getNumResults() != 0 && isRepeatable(&op) && !isExpensive(&op) &&
        llvm::all_of(op.getUsers(),
                     [&](Operation *user) {
                       return isa<WriteOp>(user) ||
                              (attention.contains(user) && !leads.contains(user));
                     }) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return isActivation(operand) && attention.contains(producer) &&
                 isOfSameBlock(producer, &op);
        }))
      attention.insert(&op);
  // Operands of a product of activations lead to it as well, but follow no such product.
  for (Operation &op : llvm::reverse(body)) {
    if (op.getNumResults() == 0 || isActivation(op.getResult(0)) || !isRepeatable(&op) ||
        statistics.contains(&op))
      continue;
    bool isUsed = false, isUsedElsewhere = false;
    for (Operation *user : op.getUsers())
      if (!isa<WriteOp>(user))
        (attention.contains(user) ? isUsed : isUsedElsewhere) = true;
    if (isUsed && !isUsedElsewhere)
      attention.insert(&op);
  }
}
