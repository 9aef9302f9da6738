#include "passes/Partition/Stages/StageAnalysis.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/St/Utils/Roles.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Partition/Stages/StageCut.h"
#include "passes/Partition/Stages/StageStarts.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::st;

static constexpr int64_t kNever = int64_t(1) << 48;

/// The size in bits, for comparisons.
static int64_t sizeOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isIntOrFloat())
    return kNever;
  return type.getNumElements() * type.getElementTypeBitWidth();
}

/// Operands and values that regions capture.
static SmallVector<Value> readsOf(Operation *op) {
  SmallVector<Value> reads(op->getOperands());
  SetVector<Value> captured;
  for (Region &region : op->getRegions())
    getUsedValuesDefinedAbove(region, captured);
  llvm::append_range(reads, captured);
  return reads;
}

StageSet StageAnalysis::only(int64_t stage) const {
  StageSet set(stages);
  set.set(stage);
  return set;
}

bool StageAnalysis::isForward(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && forward.contains(op);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void StageAnalysis::markStateful() {
  for (BlockArgument argument : function.getArguments())
    if (isTrainingState(argument))
      stateful.insert(argument);
  for (Operation &op : function.front().without_terminator())
    if (llvm::any_of(readsOf(&op), [&](Value value) { return isStateful(value); }))
      stateful.insert(op.result_begin(), op.result_end());
}

/// Forward ops are those on which the loss depends; all ops if there is no loss.
void StageAnalysis::markForward() {
  SmallVector<Operation *> worklist;
  bool hasLoss = false;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto role = function.getResultAttrOfType<StringAttr>(i, kRoleAttr);
    if (!role || role.getValue() != "loss")
      continue;
    hasLoss = true;
    if (Operation *op = value.getDefiningOp())
      worklist.push_back(op);
  }
  if (!hasLoss)
    for (Operation &op : function.front().without_terminator())
      worklist.push_back(&op);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!forward.insert(op).second)
      continue;
    for (Value value : readsOf(op))
      if (Operation *producer = value.getDefiningOp())
        worklist.push_back(producer);
  }
}

/// Returns true if an op without a block computes from parameters and constants alone, such as a
/// converted copy of a weight; it belongs where it is used.
bool StageAnalysis::isOfParameters(Operation *op) const {
  if (op->hasAttr(kBlockAttr))
    return false;
  return llvm::all_of(readsOf(op), [&](Value value) {
    Operation *producer = value.getDefiningOp();
    if (!producer)
      return isStateful(value);
    return ofParameters.contains(producer) || producer->hasTrait<OpTrait::ConstantLike>();
  });
}

/// Splits stages at the ops that the user names.
SmallVector<int64_t> StageAnalysis::splitAtStarts(ArrayRef<Operation *> ops, ArrayAttr starts) {
  SmallVector<StringRef> patterns;
  for (auto start : starts.getAsRange<Attribute>())
    if (auto pattern = dyn_cast<StringAttr>(start))
      patterns.push_back(pattern.getValue());
  if (static_cast<int64_t>(patterns.size()) != stages - 1)
    fault =
        llvm::formatv("found {0} strings in {1}, expected {2}, one for each stage but the first",
                      patterns.size(), kStageStartsAttr, stages - 1);
  SmallVector<StageStart> found = findStageStarts(function, ops, patterns);
  size_t index = 0;
  if (std::string wrong = findFault(found, patterns, index); fault.empty() && !wrong.empty())
    fault = llvm::formatv("{0}[{1}] is \"{2}\", but {3}", kStageStartsAttr, index, patterns[index],
                          wrong);
  SmallVector<int64_t> cut(ops.size(), 0);
  if (fault.empty())
    for (const StageStart &start : found)
      for (size_t i = *start.op; i < ops.size(); ++i)
        ++cut[i];
  return cut;
}

void StageAnalysis::splitForward() {
  // In a function without state, all ops are forward ops, and none is cloned.
  bool hasState = !stateful.empty();
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator()) {
    bool isPart =
        !hasState || llvm::any_of(op.getResults(), [&](Value value) { return isStateful(value); });
    if (!isPart || !forward.contains(&op))
      continue;
    if (hasState && isOfParameters(&op))
      ofParameters.insert(&op);
    else
      ops.push_back(&op);
  }
  auto module = function->getParentOfType<ModuleOp>();
  auto starts = module->getAttrOfType<ArrayAttr>(kStageStartsAttr);
  auto known = module->getAttrOfType<DictionaryAttr>(kParameterStagesAttr);
  SmallVector<int64_t> cut = known    ? followParameters(function, ops, known)
                             : starts ? splitAtStarts(ops, starts)
                                      : splitIntoStages(ops, stages, axes);
  for (auto [op, stage] : llvm::zip_equal(ops, cut)) {
    // Values flow forward only, even if the blocks disagree.
    for (Value value : readsOf(op))
      if (Operation *producer = value.getDefiningOp(); producer && opStages.contains(producer))
        stage = std::max<int64_t>(stage, opStages[producer].find_first());
    opStages[op] = only(stage);
  }
  for (Operation *op : llvm::reverse(ofParameters.getArrayRef())) {
    StageSet where(stages);
    for (Operation *user : op->getUsers()) {
      while (user->getBlock() != &function.front())
        user = user->getParentOp();
      if (auto it = opStages.find(user); it != opStages.end())
        where |= it->second;
    }
    // A value that no other op of the forward pass reads is a result.
    opStages[op] = where.any() ? where : only(stages - 1);
  }
}

StageSet StageAnalysis::available(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return usesOf(argument);
  StageSet set = opStages.find(value.getDefiningOp())->second;
  for (Operation *user : value.getUsers())
    if (forward.contains(user))
      if (auto it = opStages.find(user); it != opStages.end())
        set |= it->second;
  return set;
}

//===----------------------------------------------------------------------===//
// State and its updates
//===----------------------------------------------------------------------===//

/// A parameter belongs to the stages whose forward pass reads it, with its optimizer state.
void StageAnalysis::placeParameters() {
  for (BlockArgument argument : function.getArguments())
    argumentStages[argument] = StageSet(stages);
  DenseMap<StringAttr, StageSet> byName;
  for (BlockArgument argument : function.getArguments()) {
    StageSet &set = argumentStages[argument];
    if (getRole(argument) == "optimizer_state" || !isStateful(argument))
      continue;
    for (Operation *user : argument.getUsers()) {
      while (user->getBlock() != &function.front())
        user = user->getParentOp();
      if (auto it = opStages.find(user); it != opStages.end() && forward.contains(user))
        set |= it->second;
    }
    if (set.none())
      set = only(0);
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
      byName[name] = set;
  }
  for (BlockArgument argument : function.getArguments()) {
    if (getRole(argument) != "optimizer_state")
      continue;
    auto of = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kOfAttr);
    auto it = of ? byName.find(of) : byName.end();
    // A scalar that belongs to no parameter (a loss scale, a step count) is available in all
    // stages.
    StageSet ofNone = rankOf(argument) == 0 ? StageSet(stages, true) : only(0);
    argumentStages[argument] = it == byName.end() ? ofNone : it->second;
  }
}

/// Walks from a donated result back through elementwise ops in its shape, to the gradient or a
/// constraint on it. These ops are computed in the stages of the parameter.
void StageAnalysis::placeUpdates() {
  for (auto [result, argument] : donors) {
    if (!isStateful(argument) || rankOf(argument) == 0)
      continue;
    StageSet where = homesOf(argument);
    SmallVector<Value> worklist = {terminator->getOperand(result)};
    DenseSet<Operation *> seen;
    while (!worklist.empty()) {
      Value value = worklist.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || forward.contains(op) || !isStateful(value) ||
          shapeOf(value) != shapeOf(argument) || isa<ConstrainOp>(op) ||
          !isPointwise(getShardingRule(op)) || !seen.insert(op).second)
        continue;
      auto [it, isNew] = opStages.try_emplace(op, where);
      if (!isNew)
        it->second |= where;
      llvm::append_range(worklist, op->getOperands());
    }
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

int64_t StageAnalysis::lowestStage(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return usesOf(argument).find_first();
  return opStages.find(value.getDefiningOp())->second.find_first();
}

/// The stage of an update that reads the op's result: a gradient of cotangents alone (of a bias) is
/// computed where its parameter is.
std::optional<int64_t> StageAnalysis::updateStage(Operation *op) const {
  for (Operation *user : op->getUsers()) {
    if (isa<ConstrainOp>(user) && !forward.contains(user))
      return updateStage(user);
    if (auto it = opStages.find(user);
        it != opStages.end() && it->second.count() == 1 && !forward.contains(user))
      return it->second.find_first();
  }
  return std::nullopt;
}

int64_t StageAnalysis::backwardStage(Operation *op) const {
  // A constraint stays in the stage of its operand, because a sum that it leaves unreduced cannot
  // be sent.
  if (isa<ConstrainOp>(op))
    return lowestStage(op->getOperand(0));
  std::optional<int64_t> cotangents, scalars;
  SmallVector<StageSet> reads;
  for (Value value : readsOf(op)) {
    if (!isStateful(value))
      continue;
    if (isa<BlockArgument>(value) || isForward(value)) {
      reads.push_back(available(value));
      continue;
    }
    int64_t stage = lowestStage(value);
    // A scalar of all parameters does not determine a stage.
    if (rankOf(value) == 0)
      scalars = std::max(scalars.value_or(stage), stage);
    else
      cotangents = std::min(cotangents.value_or(stage), stage);
  }
  bool isScalarArithmetic = !cotangents && scalars && rankOf(op->getResult(0)) == 0;
  if (isScalarArithmetic) {
    for (const StageSet &set : reads)
      scalars = std::max<int64_t>(*scalars, set.find_first());
    return *scalars;
  }
  // A value that the forward pass has in several stages is taken from the last one that the
  // cotangents have reached.
  int64_t limit = cotangents.value_or(stages - 1);
  std::optional<int64_t> stage;
  for (const StageSet &set : reads) {
    int64_t nearest = set.find_prev(limit + 1);
    if (nearest < 0)
      nearest = set.find_first();
    stage = std::min(stage.value_or(nearest), nearest);
  }
  if (stage)
    return std::min(*stage, limit);
  if (std::optional<int64_t> update = updateStage(op); cotangents && update)
    return std::min(*update, limit);
  return cotangents.value_or(scalars.value_or(0));
}

void StageAnalysis::placeBackward() {
  for (Operation &op : function.front().without_terminator())
    if (!opStages.contains(&op) &&
        llvm::any_of(op.getResults(), [&](Value value) { return isStateful(value); }))
      opStages[&op] = only(backwardStage(&op));
}

/// A cotangent that only the preceding stage uses is computed there, as long as this does not
/// increase the bytes sent. For example, a dropout's cotangent needs the mask, which that stage
/// has, and the incoming cotangent, which is sent there anyway.
void StageAnalysis::sinkBackward() {
  for (Operation &op : llvm::reverse(function.front().without_terminator())) {
    auto placed = opStages.find(&op);
    if (placed == opStages.end() || placed->second.count() != 1 || forward.contains(&op) ||
        op.getNumResults() != 1 || op.getNumRegions() > 0 || op.use_empty() ||
        isa<ConstrainOp>(op) || !isPointwise(getShardingRule(&op)))
      continue;
    const StageSet &where = opStages.lookup(*op.user_begin());
    bool isNeededThere = llvm::all_of(op.getUsers(), [&](Operation *user) {
      auto it = opStages.find(user);
      return user != terminator && it != opStages.end() && it->second == where;
    });
    if (!isNeededThere || where.count() != 1 || where.find_first() >= placed->second.find_first())
      continue;
    auto isThere = [&](Value value) {
      if (!isStateful(value))
        return true; // cloned
      if (isa<BlockArgument>(value) || isForward(value))
        return available(value).test(where.find_first());
      return llvm::any_of(value.getUsers(), [&](Operation *user) {
        return user != &op && user != terminator && opStages.lookup(user) == where;
      });
    };
    // An operand without other users is sent instead of the result, until it sinks as well.
    int64_t sent = 0;
    for (Value operand : op.getOperands())
      if (!isThere(operand))
        sent += operand.hasOneUse() ? sizeOf(operand) : kNever;
    if (sent <= sizeOf(op.getResult(0)))
      placed->second = where;
  }
}

//===----------------------------------------------------------------------===//
// Cloned ops
//===----------------------------------------------------------------------===//

void StageAnalysis::placeCloned() {
  DenseMap<Operation *, StageSet> needed;
  auto need = [&](Value value, const StageSet &where) {
    Operation *op = value.getDefiningOp();
    if (!op || opStages.contains(op))
      return;
    auto [it, isNew] = needed.try_emplace(op, where);
    if (!isNew)
      it->second |= where;
  };
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto donor = donors.find(i);
    if (donor != donors.end() && isStateful(donor->second))
      need(value, homesOf(donor->second));
    else if (Operation *op = value.getDefiningOp(); op && !opStages.contains(op))
      need(value, only(0));
  }
  for (Operation &op : llvm::reverse(function.front().without_terminator())) {
    if (!opStages.contains(&op)) {
      auto it = needed.find(&op);
      bool isDead = it == needed.end();
      opStages[&op] = !isDead ? it->second : isMemoryEffectFree(&op) ? StageSet(stages) : only(0);
    }
    for (Value value : readsOf(&op))
      need(value, opStages[&op]);
  }
}

void StageAnalysis::placeArguments() {
  for (BlockArgument argument : function.getArguments()) {
    StageSet &set = argumentStages[argument];
    if (isStateful(argument))
      continue;
    for (Operation *user : argument.getUsers()) {
      if (user == terminator)
        continue;
      while (user->getBlock() != &function.front())
        user = user->getParentOp();
      set |= opStages[user];
    }
    if (set.none())
      set = only(0);
  }
}

StageSet StageAnalysis::stagesOfResult(unsigned result) const {
  auto donor = donors.find(result);
  if (donor != donors.end() && isStateful(donor->second))
    return homesOf(donor->second);
  return only(lowestStage(terminator->getOperand(result)));
}

StageSet StageAnalysis::homesOf(BlockArgument argument) const {
  StageSet homes(stages);
  llvm::SmallDenseSet<int64_t> known;
  for (unsigned stage : usesOf(argument).set_bits())
    if (known.insert(groups[stage]).second)
      homes.set(stage);
  return homes;
}

int64_t StageAnalysis::homeFor(BlockArgument argument, int64_t stage) const {
  StageSet homes = homesOf(argument);
  for (unsigned home : homes.set_bits())
    if (groups[home] == groups[stage])
      return home;
  return homes.find_first();
}

StageAnalysis::StageAnalysis(func::FuncOp function, ArrayRef<int64_t> groups, const MeshAxes &axes)
    : function(function), axes(axes), groups(groups), stages(groups.size()),
      terminator(function.front().getTerminator()) {
  for (BlockArgument argument : function.getArguments()) {
    auto result =
        function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "tf.aliasing_output");
    if (result && result.getInt() < static_cast<int64_t>(terminator->getNumOperands()))
      donors[result.getInt()] = argument;
  }
  markStateful();
  markForward();
  splitForward();
  placeParameters();
  placeUpdates();
  placeBackward();
  sinkBackward();
  placeCloned();
  placeArguments();
}
