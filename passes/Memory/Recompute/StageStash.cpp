#include "passes/Memory/Recompute/StageStash.h"
#include "dialects/St/Sharding/OpWork.h"
#include "passes/Memory/MemoryUtils.h"
#include "passes/Memory/Recompute/MinimumCut.h"

using namespace mlir;
using namespace mlir::st;

StageStash::StageStash(ProgramOp program, const ValueSources &sources, const MeshAxes &axes,
                       TaskOp forward, TaskOp backward, TaskOp weight, bool gathersAgain)
    : forward(forward, sources), axes(&axes), backward(backward ? backward : weight),
      weight(weight), gathersAgain(gathersAgain) {
  findStashed(program);
  findDerived();
}

void StageStash::findStashed(ProgramOp program) {
  llvm::StringMap<SmallVector<WriteOp, 1>> writes;
  llvm::StringMap<SmallVector<TaskOp, 2>> readingTasks;
  for (auto task : program.getOps<TaskOp>())
    for (Operation &op : task.getBody().front()) {
      if (auto write = dyn_cast<WriteOp>(op))
        writes[write.getTarget()].push_back(write);
      if (auto read = dyn_cast<ReadOp>(op))
        readingTasks[read.getSource()].push_back(task);
    }
  for (Operation &op : program.getBody().front()) {
    auto buffer = dyn_cast<BufferOp>(op);
    if (isa<StateOp, InputOp>(op) || (buffer && buffer.getKind() != "stash"))
      freeReads.insert(SymbolTable::getSymbolName(&op).getValue());
    if (!buffer || buffer.getKind() != "stash")
      continue;
    ArrayRef<TaskOp> tasks = readingTasks[buffer.getSymName()];
    if (llvm::is_contained(tasks, backward))
      freeReads.insert(buffer.getSymName());
    ArrayRef<WriteOp> mine = writes[buffer.getSymName()];
    if (mine.size() != 1 || mine[0]->getParentOp() != forward.getTask())
      continue;
    WriteOp write = mine[0];
    if (llvm::any_of(tasks, [&](TaskOp task) { return task != backward && task != weight; }))
      continue;
    stashed[write.getValue()] = write;
    stashedOf[forward.getBlock(write.getValue().getDefiningOp())].push_back(write.getValue());
    if (llvm::is_contained(tasks, weight))
      readByWeight.insert(write.getValue());
  }
}

/// Returns true if the backward task can read a value where the forward task read it, at no cost.
bool StageStash::isInStorage(Value value) const {
  auto read = value.getDefiningOp<ReadOp>();
  return read && freeReads.contains(read.getSource());
}

/// States, inputs and prologue results are available in any block, and so are values derived from
/// them without an activation.
void StageStash::findDerived() {
  for (Operation &op : forward.getTask().getBody().front())
    for (Value result : op.getResults())
      if (!forward.isActivation(result) &&
          (isInStorage(result) ||
           (ForwardTask::isRepeatable(&op) && llvm::all_of(op.getOperands(), [&](Value operand) {
              return derived.contains(operand);
            }))))
        derived.insert(result);
}

bool StageStash::isAllowed(Operation *op, int64_t block, RecomputeLevel level) const {
  if (!ForwardTask::isRepeatable(op) || forward.getBlock(op) != block)
    return false;
  if (gathersAgain && forward.isGathered(op))
    return true;
  switch (level) {
  case RecomputeLevel::Nothing:
    return false;
  case RecomputeLevel::Cheap:
    return !ForwardTask::isExpensive(op);
  // Attention operands that only differ in shape from a stashed value need not be stashed twice.
  case RecomputeLevel::Attention:
  case RecomputeLevel::CheapAndAttention:
    return !forward.isStatistic(op) && (!ForwardTask::isExpensive(op) || forward.isAttention(op));
  case RecomputeLevel::Everything:
    return true;
  }
  llvm_unreachable("unknown level");
}

/// In elementwise f32 passes. Random bits take about a hundred operations per element, other masks
/// a few.
static constexpr double kCheapPasses = 16;

bool StageStash::isDroppable(Value value, int64_t block, RecomputeLevel level) const {
  Operation *op = value.getDefiningOp();
  // A value that enters a later block is stashed by that block.
  if (!isAllowed(op, block, level) || forward.isReadLater(value))
    return false;
  if (gathersAgain && forward.isGathered(op))
    return true;
  if (level == RecomputeLevel::Attention && !forward.isAttention(op))
    return false;
  if (forward.isActivation(value))
    return true;
  if (!isDerived(value))
    return false;
  if (level == RecomputeLevel::Everything || forward.isAttention(op))
    return true;
  ::st::proto::OpWork pass;
  pass.set_type(::st::proto::F32);
  pass.set_flops(static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements()));
  return getRecomputeCost(value, [&](Value other) { return isInStorage(other); }) <=
         kCheapPasses * axes->costs().op(pass).device;
}

double StageStash::timeOf(Operation *op) const {
  auto [it, isNew] = times.try_emplace(op, 0);
  if (isNew)
    it->second = timeInTask(op, *axes);
  return it->second;
}

double StageStash::getRecomputeCost(ArrayRef<Value> values,
                                    function_ref<bool(Value)> isAtHand) const {
  DenseSet<Operation *> seen;
  SmallVector<Value> worklist(values);
  double cost = 0;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || isa<ReadOp>(op) || !seen.insert(op).second)
      continue;
    cost += timeOf(op);
    for (Value operand : op->getOperands())
      if (!isAtHand(operand))
        worklist.push_back(operand);
  }
  return cost;
}

/// The values to keep so that the wanted values can be computed.
llvm::SetVector<Value> StageStash::cut(const llvm::SetVector<Value> &wanted, int64_t block,
                                       RecomputeLevel level,
                                       function_ref<bool(Value)> isAtHand) const {
  MinimumCut graph;
  SmallVector<Value> nodes;
  DenseMap<Value, unsigned> numbers;
  auto getNode = [&](Value value) {
    auto [it, isNew] = numbers.try_emplace(value, nodes.size());
    if (isNew) {
      nodes.push_back(value);
      graph.addNode(getNumBytes(value.getType()));
    }
    return it->second;
  };
  for (Value value : wanted)
    graph.markSink(getNode(value));
  for (unsigned i = 0; i < nodes.size(); ++i) {
    if (isDerived(nodes[i]))
      continue;
    Operation *op = nodes[i].getDefiningOp();
    if (!isAllowed(op, block, level)) {
      graph.markSource(i);
      continue;
    }
    for (Value operand : op->getOperands())
      if (!isDerived(operand) && !isAtHand(operand))
        graph.addEdge(getNode(operand), i);
  }
  llvm::SetVector<Value> kept;
  for (unsigned node : graph.solve())
    kept.insert(nodes[node]);
  return kept;
}

void StageStash::chooseInBlock(int64_t block, RecomputeLevel level, StashChoice &choice) const {
  llvm::SetVector<Value> wanted;
  for (Value value : getStashed(block))
    if (isDroppable(value, block, level))
      wanted.insert(value);
  auto isAtHand = [&](Value value) {
    return isInStorage(value) || choice.added.contains(value) ||
           (stashed.contains(value) && !choice.dropped.contains(value));
  };
  llvm::SetVector<Value> kept = cut(wanted, block, level, [&](Value value) {
    return isAtHand(value) && !wanted.contains(value);
  });
  SmallVector<Value> dropped;
  for (Value value : wanted)
    if (!kept.contains(value)) {
      dropped.push_back(value);
      choice.savedBytes += getNumBytes(value.getType());
    }
  for (Value value : kept)
    if (!wanted.contains(value)) {
      choice.added.insert(value);
      choice.savedBytes -= getNumBytes(value.getType());
    }
  choice.dropped.insert_range(dropped);
  choice.cost += getRecomputeCost(dropped, isAtHand);
}

StashChoice StageStash::choose(const DenseMap<int64_t, RecomputeLevel> &levels) const {
  StashChoice choice;
  // A value that a later block keeps is available to the block that computes it.
  for (int64_t block : llvm::reverse(forward.getBlocks()))
    if (auto level = levels.find(block); level != levels.end())
      chooseInBlock(block, level->second, choice);
  return choice;
}
