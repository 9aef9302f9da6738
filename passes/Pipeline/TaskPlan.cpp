#include "passes/Pipeline/TaskPlan.h"
#include "passes/Pipeline/Recompute.h"

using namespace mlir;
using namespace mlir::st;

/// What may be spent to make a value again: five elementwise passes, fused into the reader.
static constexpr int64_t kRecomputeBudget = 5 * kPassCost;
/// For a reader that needs the value in memory, views only.
static constexpr int64_t kViewBudget = 2;

OperandRange TaskItem::getOperands() const {
  OperandRange operands = op->getOperands();
  if (kind == Result)
    return operands.slice(resultNumber, 1);
  // A receiving half reads nothing of this stage.
  if (kind == Compute && isa<TransferOp>(op))
    return operands.slice(0, 0);
  return operands;
}

StagePlan::StagePlan(const TaskAnalysis &analysis, int64_t stage)
    : analysis(analysis), stage(stage) {
  for (unsigned i = 0; i < kNumPhases; ++i)
    tasks[i].phase = static_cast<Phase>(i);
  collect();
  // Readers first: what they want from earlier tasks keeps ops there alive.
  for (TaskPlan &task : llvm::reverse(tasks))
    plan(task);
}

void StagePlan::collect() {
  for (Operation *op : analysis.getOps()) {
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      addTransfer(transfer);
      continue;
    }
    if (analysis.getStage(op) != stage)
      continue;
    auto accumulate = dyn_cast<AccumulateOp>(op);
    if (!accumulate) {
      getTask(analysis.getPhase(op)).items.push_back({TaskItem::Compute, op});
    } else if (analysis.resolve(accumulate) == accumulate.getResult()) {
      accumulations.push_back(accumulate);
      getTask(analysis.getAccumulatingPhase(accumulate))
          .items.push_back({TaskItem::Accumulate, op});
    }
  }
  addResults();
}

void StagePlan::addTransfer(TransferOp op) {
  if (static_cast<int64_t>(op.getTarget()) == stage)
    getTask(analysis.getPhase(op)).items.push_back({TaskItem::Compute, op});
  // A value is sent where it is made: the receiver may be far behind, never ahead.
  if (static_cast<int64_t>(op.getSource()) == stage) {
    Phase phase = analysis.getValuePhase(op.getOperand()).value_or(analysis.getPhase(op));
    getTask(phase).items.push_back({TaskItem::Send, op});
  }
}

void StagePlan::addResults() {
  func::FuncOp function = analysis.getFunction();
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    auto resultStage = function.getResultAttrOfType<IntegerAttr>(number, kStageAttr);
    if ((resultStage ? resultStage.getInt() : 0) != stage)
      continue;
    Phase phase = analysis.getValuePhase(value).value_or(Phase::Update);
    // What the prologue computes may be a new state, which other tasks must not see yet.
    if (phase == Phase::Prologue)
      phase = Phase::Update;
    getTask(phase).items.push_back({TaskItem::Result, terminator, static_cast<unsigned>(number)});
  }
}

void StagePlan::plan(TaskPlan &task) {
  auto externals = markLive(task).takeVector();
  llvm::sort(externals, [&](const auto &a, const auto &b) {
    return analysis.getIndex(a.first) < analysis.getIndex(b.first);
  });
  for (auto [value, needsMemory] : externals)
    decide(task, value, needsMemory);
}

StagePlan::Externals StagePlan::markLive(TaskPlan &task) {
  Externals externals;
  for (const TaskItem &item : llvm::reverse(task.items)) {
    if (item.kind == TaskItem::Compute) {
      if (llvm::any_of(item.op->getResults(), [&](Value v) { return buffered.contains(v); }))
        task.live.insert(item.op);
      if (!task.live.contains(item.op))
        continue;
    }
    bool needsMemory = item.kind != TaskItem::Compute || !readsElementwise(item.op);
    for (Value operand : item.getOperands()) {
      Value value = analysis.resolve(operand);
      if (analysis.getValuePhase(value) == task.phase)
        task.live.insert(value.getDefiningOp());
      else
        externals[value] |= needsMemory;
    }
  }
  return externals;
}

void StagePlan::decide(TaskPlan &task, Value value, bool needsMemory) {
  value = analysis.resolve(value);
  if (!analysis.getValuePhase(value) || task.fromBuffers.contains(value))
    return;
  auto isAtHand = [&](Value candidate) {
    candidate = analysis.resolve(candidate);
    return !analysis.getValuePhase(candidate) || task.fromBuffers.contains(candidate);
  };
  bool small = cast<RankedTensorType>(value.getType()).getNumElements() <= 1024;
  int64_t budget = needsMemory && !small ? kViewBudget : kRecomputeBudget;
  if (getRecomputeCost(value, isAtHand, budget) <= budget) {
    ++numRecomputed;
    return;
  }
  if (isView(value.getDefiningOp())) {
    decide(task, value.getDefiningOp()->getOperand(0), needsMemory);
    return;
  }
  task.fromBuffers.insert(value);
  buffered.insert(value);
}
