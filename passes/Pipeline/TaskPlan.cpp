#include "passes/Pipeline/TaskPlan.h"
#include "passes/Pipeline/Recompute.h"

using namespace mlir;
using namespace mlir::st;

/// The budget for recomputing a value: five elementwise passes, fused into the user.
static constexpr int64_t kRecomputeBudget = 5 * kPassCost;
/// The budget for a user that needs the value in memory: views only.
static constexpr int64_t kViewBudget = 2;

OperandRange TaskItem::getOperands() const {
  OperandRange operands = op->getOperands();
  if (kind == Result)
    return operands.slice(resultNumber, 1);
  // The receiving half of a transfer reads no value of this stage.
  if (kind == Compute && isa<TransferOp>(op))
    return operands.slice(0, 0);
  return operands;
}

GroupPlan::GroupPlan(const TaskAnalysis &analysis, int64_t group)
    : analysis(analysis), group(group) {
  for (int64_t stage : llvm::seq(analysis.getNumStages()))
    if (analysis.getGroup(stage) == group)
      stages.push_back(stage);
  makeTasks();
  collect();
  // Later tasks first: the values that they use keep ops of earlier tasks alive.
  for (TaskPlan &task : llvm::reverse(tasks))
    plan(task);
}

void GroupPlan::makeTasks() {
  for (unsigned i = 0; i < kNumPhases; ++i) {
    auto phase = static_cast<Phase>(i);
    SmallVector<int64_t> order = stages;
    if (phase == Phase::Backward || phase == Phase::Weight)
      std::reverse(order.begin(), order.end());
    // Between the loop and the end of the step, stages exchange values within one task, in program
    // order.
    if (!isPerMicroBatch(phase))
      order.resize(1);
    for (int64_t stage : order) {
      TaskPlan &task = tasks.emplace_back();
      task.phase = phase;
      task.stage = stage;
    }
  }
}

TaskPlan &GroupPlan::getTask(Phase phase, int64_t stage) {
  return *llvm::find_if(tasks, [&](const TaskPlan &task) {
    return task.phase == phase && (task.stage == stage || !isPerMicroBatch(phase));
  });
}

bool GroupPlan::isComputedIn(const TaskPlan &task, Value value) const {
  value = analysis.resolve(value);
  return analysis.getValuePhase(value) == task.phase &&
         (!isPerMicroBatch(task.phase) || analysis.getStage(value.getDefiningOp()) == task.stage);
}

void GroupPlan::collect() {
  for (Operation *op : analysis.getOps()) {
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      addTransfer(transfer);
      continue;
    }
    int64_t stage = analysis.getStage(op);
    if (!hasStage(stage))
      continue;
    auto accumulate = dyn_cast<AccumulateOp>(op);
    if (!accumulate) {
      getTask(analysis.getPhase(op), stage).items.push_back({TaskItem::Compute, op});
    } else if (analysis.resolve(accumulate) == accumulate.getResult()) {
      accumulations.push_back(accumulate);
      getTask(analysis.getAccumulatingPhase(accumulate), stage)
          .items.push_back({TaskItem::Accumulate, op});
    }
  }
  addResults();
}

void GroupPlan::addTransfer(TransferOp op) {
  if (analysis.isWithinGroup(op))
    return;
  int64_t source = op.getSource(), target = op.getTarget();
  if (hasStage(target))
    getTask(analysis.getPhase(op), target).items.push_back({TaskItem::Compute, op});
  // A value is sent where it is computed: the receiver may be later, but never earlier.
  if (hasStage(source)) {
    Phase phase = analysis.getValuePhase(op.getOperand()).value_or(analysis.getPhase(op));
    getTask(phase, source).items.push_back({TaskItem::Send, op});
  }
}

void GroupPlan::addResults() {
  func::FuncOp function = analysis.getFunction();
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    auto resultStage = function.getResultAttrOfType<IntegerAttr>(number, kStageAttr);
    int64_t stage = resultStage ? resultStage.getInt() : 0;
    if (!hasStage(stage))
      continue;
    Phase phase = analysis.getValuePhase(value).value_or(Phase::Update);
    // Other tasks do not read the new state: a counter, for example, changes before other values
    // are computed.
    auto role = function.getResultAttrOfType<StringAttr>(number, kRoleAttr);
    bool isState = role && (role.getValue() == "parameter" || role.getValue() == "optimizer_state");
    if (isState || phase == Phase::Prologue)
      phase = Phase::Update;
    getTask(phase, stage)
        .items.push_back({TaskItem::Result, terminator, static_cast<unsigned>(number)});
  }
}

void GroupPlan::plan(TaskPlan &task) {
  auto externals = markLive(task).takeVector();
  llvm::sort(externals, [&](const auto &a, const auto &b) {
    return analysis.getIndex(a.first) < analysis.getIndex(b.first);
  });
  // Values that must be in memory anyway are available for recomputing others.
  for (auto [value, needsMemory] : externals)
    if (needsMemory)
      decide(task, value, needsMemory);
  // Keeps the values from which most other values can be computed cheaply: GELU's backward part
  // reads three functions of one tensor.
  DenseMap<Value, int64_t> served;
  for (auto [value, needsMemory] : externals)
    for (Value source : getSources(task, value))
      ++served[source];
  for (auto [value, needsMemory] : externals) {
    Value best = value;
    for (Value source : getSources(task, value))
      if (served.lookup(source) > served.lookup(best))
        best = source;
    if (best != value)
      decide(task, best, needsMemory);
    decide(task, value, needsMemory);
  }
}

/// Returns true if a task can read a value: from an argument, an accumulation, or a buffer it reads
/// anyway.
bool GroupPlan::isAtHand(const TaskPlan &task, Value value) const {
  value = analysis.resolve(value);
  return !analysis.getValuePhase(value) || task.fromBuffers.contains(value);
}

/// A value, and the values from which it follows by few elementwise passes over one tensor, nearest
/// first. Values that the task already has cost nothing.
SmallVector<Value> GroupPlan::getSources(const TaskPlan &task, Value value) const {
  auto atHand = [&](Value candidate) { return isAtHand(task, candidate); };
  SmallVector<Value> sources;
  while (!atHand(value)) {
    sources.push_back(value);
    Operation *op = value.getDefiningOp();
    Value next;
    for (Value operand : op->getOperands()) {
      if (operand == next || getRecomputeCost(operand, atHand, kPassCost) <= kPassCost)
        continue;
      if (next)
        return sources;
      next = operand;
    }
    auto isNext = [&](Value candidate) { return candidate == next || atHand(candidate); };
    if (!next || getRecomputeCost(sources.front(), isNext, kRecomputeBudget) > kRecomputeBudget)
      return sources;
    value = analysis.resolve(next);
  }
  return sources;
}

GroupPlan::Externals GroupPlan::markLive(TaskPlan &task) {
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
      if (isComputedIn(task, value))
        task.live.insert(value.getDefiningOp());
      else
        externals[value] |= needsMemory;
    }
  }
  return externals;
}

void GroupPlan::decide(TaskPlan &task, Value value, bool needsMemory) {
  value = analysis.resolve(value);
  if (isAtHand(task, value))
    return;
  if (looksUpMatrices(value.getDefiningOp())) {
    decide(task, value.getDefiningOp()->getOperand(1), /*needsMemory=*/true);
    ++numRecomputed;
    return;
  }
  auto atHand = [&](Value candidate) { return isAtHand(task, candidate); };
  bool small = cast<RankedTensorType>(value.getType()).getNumElements() <= 1024;
  int64_t budget = needsMemory && !small ? kViewBudget : kRecomputeBudget;
  if (getRecomputeCost(value, atHand, budget) <= budget) {
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
