#include "passes/Pipeline/TaskAnalysis.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::st;

StringRef mlir::st::getPhaseName(Phase phase) {
  static constexpr llvm::StringLiteral names[] = {"prologue", "statistics", "totals", "forward",
                                                  "backward", "weight",     "update"};
  return names[static_cast<unsigned>(phase)];
}

TaskAnalysis::TaskAnalysis(func::FuncOp function, MeshOp mesh, ArrayRef<int64_t> groups)
    : function(function), microBatches(mesh.getMicro()), groups(groups) {
  for (Operation &op : function.getBody().front().without_terminator()) {
    indices[&op] = ops.size();
    infos.emplace_back().index = ops.size();
    ops.push_back(&op);
  }
}

FailureOr<TaskAnalysis> TaskAnalysis::compute(func::FuncOp function, MeshOp mesh,
                                              ArrayRef<int64_t> groups, bool splitsBackward) {
  TaskAnalysis analysis(function, mesh, groups);
  for (Operation *op : analysis.ops)
    for (Region &region : op->getRegions()) {
      SetVector<Value> captured;
      getUsedValuesDefinedAbove(region, captured);
      if (!captured.empty())
        return withNote(
            op->emitOpError("uses values from outside its regions, which cannot be put into tasks"),
            captured.front(), "a value is defined here");
    }
  if (failed(analysis.checkStages()))
    return failure();
  analysis.findVarying();
  analysis.findLoopFeeders();
  analysis.findAccumulationUsers();
  analysis.markLoss();
  if (failed(analysis.markStatistics()))
    return failure();
  analysis.assignPhases();
  if (splitsBackward)
    analysis.splitBackward();
  return analysis;
}

const TaskAnalysis::OpInfo *TaskAnalysis::defInfo(Value value) const {
  Operation *op = value.getDefiningOp();
  return op ? &info(op) : nullptr;
}

int64_t TaskAnalysis::getIndex(Value value) const {
  const OpInfo *def = defInfo(value);
  return def ? def->index : -1;
}

int64_t TaskAnalysis::getStage(Operation *op) const {
  if (auto transfer = dyn_cast<TransferOp>(op))
    return transfer.getTarget();
  return mlir::st::getStage(op).value_or(0);
}

int64_t TaskAnalysis::getMicroDim(ShardingAttr sharding) {
  if (sharding)
    for (int64_t dim = 0; dim < sharding.getRank(); ++dim)
      if (llvm::is_contained(sharding.getAxes(dim), MeshOp::kMicro))
        return dim;
  return -1;
}

// ---- stages -------------------------------------------------------------------

/// The stage of a value; none for an argument without a stage.
static std::optional<int64_t> getValueStage(const TaskAnalysis &analysis, Value value) {
  if (Operation *op = value.getDefiningOp())
    return analysis.getStage(op);
  auto argument = cast<BlockArgument>(value);
  auto stage =
      analysis.getFunction().getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), kStageAttr);
  return stage ? std::optional<int64_t>(stage.getInt()) : std::nullopt;
}

LogicalResult TaskAnalysis::checkStages() {
  for (Operation *op : ops) {
    auto transfer = dyn_cast<TransferOp>(op);
    if (!transfer && getNumStages() > 1 && !mlir::st::getStage(op))
      return op->emitOpError("has no st.stage; expected assign-stages to have run");
    int64_t stage = transfer ? transfer.getSource() : getStage(op);
    for (int64_t used : {stage, getStage(op)})
      if (used < 0 || used >= getNumStages())
        return op->emitOpError("belongs to stage ")
               << used << ", expected less than " << getNumStages();
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> from = getValueStage(*this, operand);
      if (!from || *from == stage)
        continue;
      InFlightDiagnostic diagnostic = op->emitOpError("of stage ")
                                      << stage << " uses a value of stage " << *from
                                      << "; expected an st.transfer between them";
      diagnostic.attachNote(operand.getLoc()) << "the value is defined here";
      return diagnostic;
    }
  }
  return success();
}

// ---- variation along micro ------------------------------------------------------

/// Returns true if an argument varies by micro-batch. With a single micro-batch every batch
/// argument counts, so that forward and backward keep their meaning.
static bool argumentVaries(func::FuncOp function, BlockArgument argument, int64_t microBatches) {
  unsigned number = argument.getArgNumber();
  auto sharding = function.getArgAttrOfType<ShardingAttr>(number, kShardingAttr);
  if (TaskAnalysis::getMicroDim(sharding) >= 0)
    return true;
  return microBatches == 1 && getRole(argument) == "batch";
}

void TaskAnalysis::findVarying() {
  for (Operation *op : ops) {
    if (isa<AccumulateOp>(op))
      continue;
    auto index = dyn_cast<AxisIndexOp>(op);
    info(op).varies = (index && index.getAxis() == MeshOp::kMicro) ||
                      llvm::any_of(op->getOperands(), [&](Value operand) {
                        if (const OpInfo *def = defInfo(operand))
                          return def->varies;
                        return argumentVaries(function, cast<BlockArgument>(operand), microBatches);
                      });
  }
}

void TaskAnalysis::findLoopFeeders() {
  for (Operation *op : llvm::reverse(ops))
    info(op).feedsLoop = llvm::any_of(op->getUsers(), [&](Operation *user) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        return false;
      return info(user).varies || info(user).feedsLoop || isa<AccumulateOp>(user);
    });
  // The operand of an accumulation belongs to the loop. Only users of its result decide whether the
  // accumulation feeds the loop; this was computed above.
}

void TaskAnalysis::findAccumulationUsers() {
  for (Operation *op : ops) {
    OpInfo &mine = info(op);
    if (isa<AccumulateOp>(op)) {
      (mine.feedsLoop ? mine.afterStatistics : mine.afterAccumulation) = true;
      continue;
    }
    for (Value operand : op->getOperands())
      if (const OpInfo *def = defInfo(operand)) {
        mine.afterStatistics |= def->afterStatistics;
        mine.afterAccumulation |= def->afterAccumulation;
      }
    mine.afterStatistics &= !mine.varies;
  }
}

/// Values that depend only on sums over several micro-batches are equal for all of them.
bool TaskAnalysis::isTotal(Operation *op) const {
  const OpInfo &mine = info(op);
  return microBatches > 1 && mine.afterStatistics && mine.feedsLoop;
}

bool TaskAnalysis::isLooped(Operation *op) const {
  const OpInfo &mine = info(op);
  return mine.varies || (microBatches == 1 && mine.afterStatistics && mine.feedsLoop);
}

// ---- slices ---------------------------------------------------------------------

void TaskAnalysis::markSlice(ArrayRef<Value> roots, bool OpInfo::*flag) {
  SmallVector<Operation *> worklist;
  auto visit = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && !(info(op).*flag)) {
      info(op).*flag = true;
      worklist.push_back(op);
    }
  };
  llvm::for_each(roots, visit);
  while (!worklist.empty())
    llvm::for_each(worklist.pop_back_val()->getOperands(), visit);
}

/// Returns true if an op stores the same elements in fewer bytes.
static bool isNarrowing(Operation *op) {
  auto convert = dyn_cast<stablehlo::ConvertOp>(op);
  if (!convert)
    return false;
  Type from = getElementTypeOrSelf(convert.getOperand().getType());
  Type to = getElementTypeOrSelf(convert.getType());
  return isa<FloatType>(from) && isa<FloatType>(to) &&
         to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth();
}

void TaskAnalysis::markLoss() {
  SmallVector<Value> roots;
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(terminator->getOperands())) {
    auto role = function.getResultAttrOfType<StringAttr>(number, kRoleAttr);
    if (role && role.getValue() == "loss")
      roots.push_back(value);
  }
  // Without a loss there is no backward part, so all ops are forward.
  if (roots.empty())
    llvm::append_range(roots, terminator->getOperands());
  markSlice(roots, &OpInfo::leadsToLoss);
  // Values rounded for the backward pass are rounded in the forward pass, so that fewer bytes are
  // stashed.
  for (Operation *op : ops)
    if (isNarrowing(op))
      if (const OpInfo *def = defInfo(op->getOperand(0)))
        info(op).leadsToLoss |= def->leadsToLoss;
}

/// A user of an early accumulation, for a diagnostic: the first op on the way that varies.
static Operation *findVaryingUser(AccumulateOp accumulate, function_ref<bool(Operation *)> varies) {
  SmallVector<Operation *> worklist = {accumulate};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val()->getUsers()) {
      if (varies(user))
        return user;
      if (!user->hasTrait<OpTrait::IsTerminator>())
        worklist.push_back(user);
    }
  return accumulate;
}

LogicalResult TaskAnalysis::checkStatisticsOp(Operation *op, AccumulateOp accumulate) {
  auto report = [&]() -> InFlightDiagnostic {
    Operation *user = findVaryingUser(accumulate, [&](Operation *op) {
      return !op->hasTrait<OpTrait::IsTerminator>() && info(op).varies;
    });
    return user->emitOpError(
        "uses a sum over all micro-batches inside the loop over micro-batches");
  };
  if (isa<AccumulateOp>(op)) {
    InFlightDiagnostic diagnostic = report();
    diagnostic.attachNote(op->getLoc())
        << "which depends on another such reduction; expected one level";
    return diagnostic;
  }
  for (Value operand : op->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || !isTrainingState(argument))
      continue;
    InFlightDiagnostic diagnostic = report();
    diagnostic.attachNote(op->getLoc())
        << "that reduction depends on " << getRole(argument) << " "
        << function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr)
        << " here; expected it to depend on the batch alone";
    return diagnostic;
  }
  return success();
}

LogicalResult TaskAnalysis::markStatistics() {
  if (microBatches == 1)
    return success();
  for (Operation *op : ops) {
    auto accumulate = dyn_cast<AccumulateOp>(op);
    if (!accumulate || !isEarly(accumulate))
      continue;
    markSlice(accumulate.getOperand(), &OpInfo::leadsToStatistics);
    for (Operation *other : ops)
      if (info(other).leadsToStatistics && failed(checkStatisticsOp(other, accumulate)))
        return failure();
  }
  return success();
}

// ---- phases ---------------------------------------------------------------------

/// An op that is independent of micro-batches runs before them if the loop reads it. With a single
/// micro-batch that would only lengthen its lifetime, so it runs with its first user.
Phase TaskAnalysis::getIndependentPhase(Operation *op) const {
  Phase first = Phase::Update;
  for (Operation *user : op->getUsers()) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      continue;
    auto accumulate = dyn_cast<AccumulateOp>(user);
    Phase phase = accumulate ? Phase::Backward : getPhase(user);
    first = std::min(first, phase);
  }
  if (microBatches > 1 && first != Phase::Update)
    return Phase::Prologue;
  return first;
}

void TaskAnalysis::assignPhases() {
  for (Operation *op : llvm::reverse(ops)) {
    OpInfo &mine = info(op);
    if (isa<AccumulateOp>(op))
      continue;
    if (isLooped(op))
      mine.phase = mine.leadsToStatistics ? Phase::Statistics
                   : mine.leadsToLoss     ? Phase::Forward
                                          : Phase::Backward;
    else if (isTotal(op))
      mine.phase = Phase::Totals;
    else if (mine.afterAccumulation || mine.afterStatistics)
      mine.phase = Phase::Update;
    else
      mine.phase = getIndependentPhase(op);
  }
}

/// Returns true if the results of an op may still have the rows of the micro-batch: it multiplies
/// tensors with these rows, or is unknown.
static bool mayKeepRows(Operation *op) {
  return isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp>(op) ||
         (op->getNumRegions() > 0 && !isa<stablehlo::ReduceOp, stablehlo::ScatterOp>(op));
}

/// Returns true if an op is a sum over rows, not an op on a single row.
static bool mayAddUpRows(Operation *op) { return op->getNumRegions() > 0 || mayKeepRows(op); }

/// Values unreduced over micro-batches: operands of accumulations, and their producers up to a sum
/// over rows.
DenseSet<Value> TaskAnalysis::findUnreduced() const {
  DenseSet<Value> unreduced;
  for (Operation *op : llvm::reverse(ops)) {
    auto accumulate = dyn_cast<AccumulateOp>(op);
    if (accumulate ? isEarly(accumulate)
                   : mayAddUpRows(op) || llvm::none_of(op->getResults(), [&](Value result) {
                       return unreduced.contains(result);
                     }))
      continue;
    for (Value operand : op->getOperands())
      if (const OpInfo *def = defInfo(operand); def && def->varies)
        unreduced.insert(operand);
  }
  return unreduced;
}

/// Ops that only compute gradients of weights wait for no other stage, and no stage waits for them
/// (the W of Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024). A product that keeps the
/// rows is the cotangent of an activation and continues to the layers below, if only to their
/// weights.
void TaskAnalysis::splitBackward() {
  DenseSet<Value> unreduced = findUnreduced();
  auto feedsWeights = [&](Operation *user) {
    if (auto accumulate = dyn_cast<AccumulateOp>(user))
      return !isEarly(accumulate);
    return !user->hasTrait<OpTrait::IsTerminator>() && info(user).phase == Phase::Weight;
  };
  for (Operation *op : llvm::reverse(ops)) {
    if (isa<AccumulateOp, TransferOp>(op) || info(op).phase != Phase::Backward || !isLooped(op) ||
        op->use_empty())
      continue;
    bool keepsRows = mayKeepRows(op) && !llvm::all_of(op->getResults(), [&](Value result) {
                       return unreduced.contains(result);
                     });
    if (!keepsRows && llvm::all_of(op->getUsers(), feedsWeights))
      info(op).phase = Phase::Weight;
  }
}

std::optional<Phase> TaskAnalysis::getValuePhase(Value value) const {
  Operation *op = resolve(value).getDefiningOp();
  if (!op || isa<AccumulateOp>(op))
    return std::nullopt;
  return getPhase(op);
}

Value TaskAnalysis::resolve(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    if (auto transfer = dyn_cast<TransferOp>(op)) {
      if (!isWithinGroup(transfer))
        break;
    } else if (!isa<AccumulateOp>(op) || microBatches > 1 || !isEarly(cast<AccumulateOp>(op))) {
      break;
    }
    value = op->getOperand(0);
  }
  return value;
}

Phase TaskAnalysis::getAccumulatingPhase(AccumulateOp op) const {
  if (Operation *producer = resolve(op.getOperand()).getDefiningOp())
    if (!isa<AccumulateOp>(producer) && isLooped(producer))
      return getPhase(producer);
  if (isEarly(op))
    return Phase::Statistics;
  return info(op).leadsToLoss ? Phase::Forward : Phase::Backward;
}
