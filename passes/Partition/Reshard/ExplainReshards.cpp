#include "passes/Partition/Reshard/ExplainReshards.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/St/Sharding/ChooseSharding.h"
#include "dialects/St/Sharding/ReshardCost.h"
#include "dialects/St/Sharding/ReshardPlans.h"
#include "dialects/St/Utils/Roles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <queue>

using namespace mlir;
using namespace mlir::st;

namespace {
/// Explains the reshards of one function.
class Explainer {
public:
  Explainer(func::FuncOp function, const MeshAxes &axes) : function(function), axes(axes) {
    findStatistics();
  }

  void explain(ReshardOp reshard, ReshardReport &report);

private:
  std::string print(const TensorSharding &sharding) const;
  std::string nameOf(BlockArgument argument);
  std::string nameOf(Operation *op);
  std::string nameOf(Value value);
  std::string resultName(OpOperand &use);

  ReshardEnd describeProducer(Value root);
  ReshardEnd describeUser(OpOperand &use, const TensorSharding &takes);
  void addCollectives(ReshardOp reshard, ExplainedReshard &explained);
  void findStatistics();

  /// The nearest annotations of some values that use an axis: at most two, because two can split a
  /// product.
  SmallVector<std::string, 2> annotationsOf(Axis axis, ArrayRef<Value> start, Operation *besides);
  std::string annotation(Value value);

  void addRemedies(Value root, OpOperand &use, const TensorSharding &from, const TensorSharding &to,
                   ExplainedReshard &explained);
  std::optional<std::string> remedyAtUser(OpOperand &use, const TensorSharding &from);
  std::optional<std::string> remedyAtProducer(Value root, const TensorSharding &to);

  func::FuncOp function;
  const MeshAxes &axes;
  /// Reshards of values that are known only after all micro-batches have run once, and that are
  /// then recomputed for each.
  DenseSet<Operation *> statistics;
};
} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// In the form of #st.sharding, without the mesh.
std::string Explainer::print(const TensorSharding &sharding) const {
  std::string text;
  llvm::raw_string_ostream(text) << axes.write(sharding);
  StringRef rest(text);
  rest.consume_front("#st.sharding<@" + axes.meshName().str() + ", ");
  rest.consume_back(">");
  return rest.str();
}

/// The name that a front end gave a location; for gradients, `transpose(name)`.
static StringRef nameIn(Location location) {
  StringRef name;
  location->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named)
      return WalkResult::advance();
    name = named.getName().getValue();
    return WalkResult::interrupt();
  });
  return name;
}

static std::string placeIn(Location location) {
  std::string place;
  location->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    llvm::raw_string_ostream(place)
        << file.getFilename().getValue() << ':' << file.getLine() << ':' << file.getColumn();
    return WalkResult::interrupt();
  });
  return place;
}

static std::string quoted(StringRef what, StringRef name) {
  return name.empty() ? what.str() : (what + " \"" + name + "\"").str();
}

std::string Explainer::nameOf(BlockArgument argument) {
  unsigned i = argument.getArgNumber();
  StringRef role = getRole(argument);
  auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
  return quoted(role.empty() ? "argument" : role,
                name ? name.getValue().str() : "arg" + std::to_string(i));
}

std::string Explainer::nameOf(Operation *op) {
  if (op->hasAttr(kConstraintAttr))
    return quoted("constraint", nameIn(op->getLoc()));
  return quoted(op->getName().stripDialect(), nameIn(op->getLoc()));
}

std::string Explainer::nameOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return nameOf(argument);
  return nameOf(value.getDefiningOp());
}

std::string Explainer::resultName(OpOperand &use) {
  unsigned i = use.getOperandNumber();
  auto name = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
  return quoted("result", name ? name.getValue().str() : "result" + std::to_string(i));
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

static bool uses(const TensorSharding &sharding, Axis axis) {
  return sharding.isSplitOver(axis) || sharding.isUnreducedOver(axis);
}

/// The user's annotation of a value, if it has one.
std::string Explainer::annotation(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && !op->hasAttr(kConstraintAttr))
    return "";
  return nameOf(value) + " is " + print(axes.read(value));
}

/// Searches from the values along all values that use the axis, nearest first.
SmallVector<std::string, 2> Explainer::annotationsOf(Axis axis, ArrayRef<Value> start,
                                                     Operation *besides) {
  SmallVector<std::string, 2> found;
  // Covers a program's layer around the value and the next one.
  constexpr size_t maxVisited = 256;
  std::queue<Value> queue;
  DenseSet<Value> known;
  auto visit = [&](Value value) {
    if (isa<RankedTensorType>(value.getType()) && uses(axes.read(value), axis) &&
        known.size() < maxVisited && known.insert(value).second)
      queue.push(value);
  };
  llvm::for_each(start, visit);
  for (; !queue.empty(); queue.pop()) {
    Value value = queue.front();
    Operation *op = value.getDefiningOp();
    if (std::string text = annotation(value); !text.empty())
      found.push_back(std::move(text));
    else if (op != besides)
      llvm::for_each(op->getOperands(), visit);
    if (found.size() == 2)
      break;
  }
  return found;
}

/// The axes that two shardings use differently.
static SmallVector<Axis> differences(const TensorSharding &a, const TensorSharding &b,
                                     const MeshAxes &axes) {
  auto placeIn = [](const TensorSharding &sharding, Axis axis) {
    std::optional<int64_t> dim = sharding.dimOf(axis);
    return std::pair(dim, dim ? *outerOf(sharding.dims[*dim], axis)
                              : int64_t(sharding.isUnreducedOver(axis)));
  };
  SmallVector<Axis> result;
  for (Axis axis : axes.used())
    if (placeIn(a, axis) != placeIn(b, axis))
      result.push_back(axis);
  return result;
}

//===----------------------------------------------------------------------===//
// Both ends
//===----------------------------------------------------------------------===//

ReshardEnd Explainer::describeProducer(Value root) {
  TensorSharding leaves = axes.read(root);
  return {nameOf(root), placeIn(root.getLoc()), print(leaves), {}};
}

ReshardEnd Explainer::describeUser(OpOperand &use, const TensorSharding &takes) {
  Operation *user = use.getOwner();
  bool isResult = user->hasTrait<OpTrait::IsTerminator>();
  return {isResult ? resultName(use) : nameOf(user), placeIn(user->getLoc()), print(takes), {}};
}

static void addOnce(std::vector<std::string> &list, std::string text) {
  if (!text.empty() && !llvm::is_contained(list, text))
    list.push_back(std::move(text));
}

/// Sums over the micro-batches from which values that vary along them are computed.
void Explainer::findStatistics() {
  DenseSet<Operation *> summed, looped;
  auto isSummed = [&](Operation &op) {
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      Operation *from = operand.getDefiningOp();
      return summed.contains(from) ||
             (isa<ReshardOp>(op) && axes.read(operand).isUnreducedOver(kMicroAxis) &&
              !axes.read(op.getResult(0)).isUnreducedOver(kMicroAxis));
    });
  };
  auto varies = [&](Operation *op) {
    return llvm::any_of(op->getResults(),
                        [&](Value result) { return uses(axes.read(result), kMicroAxis); });
  };
  for (Operation &op : function.front())
    if (isSummed(op))
      summed.insert(&op);
  for (Operation &op : llvm::reverse(function.front())) {
    if (!llvm::any_of(op.getUsers(),
                      [&](Operation *user) { return looped.contains(user) || varies(user); }))
      continue;
    looped.insert(&op);
    if (isa<ReshardOp>(op) && summed.contains(&op) && !varies(&op))
      statistics.insert(&op);
  }
}

void Explainer::addCollectives(ReshardOp reshard, ExplainedReshard &explained) {
  TensorSharding from = axes.read(reshard.getOperand()), to = axes.read(reshard.getSharding());
  auto type = cast<RankedTensorType>(reshard.getType());
  const ReshardPlan *plan = planReshard(from, to, type, axes);
  if (!plan)
    return; // the IR is not from insert-reshards
  int64_t width = needsWideSum(type, *plan, from.kind) ? 4 : elementBytes(type);
  if (auto reduceType = reshard->getAttrOfType<TypeAttr>(kReduceTypeAttr))
    width = elementBytes(reduceType.getValue());
  for (const ReshardStep &step : *plan) {
    if (!step.movesData())
      continue;
    std::string what = collectiveName(step).str();
    if (step.kind == ReshardStep::ReduceScatter || step.kind == ReshardStep::AllReduce)
      what += " " + stringifyReduceKind(from.kind).str();
    what += " over ";
    llvm::raw_string_ostream os(what);
    llvm::interleaveComma(step.axes, os, [&](Axis axis) { os << axes.name(axis).getValue(); });
    int64_t bytes = bytesSent(step, width, axes);
    int64_t times = statistics.contains(reshard) ? axes.size(kMicroAxis) : step.times;
    explained.collectives.push_back({what, bytes, times});
    explained.bytes += bytes * times;
  }
}

//===----------------------------------------------------------------------===//
// Remedies
//===----------------------------------------------------------------------===//

/// The factors of an op for a tensor in a sharding, if the op can be computed in it, ignoring sums.
static std::optional<OpSharding> factorsFor(const ShardingRule &rule, const TensorFactors &tensor,
                                            const TensorSharding &sharding) {
  OpSharding how(rule);
  SmallVector<Splits, 4> factors(rule.factors.size());
  if (!readFactors(rule, tensor, sharding, factors))
    return std::nullopt;
  for (auto [factor, splits] : llvm::enumerate(factors))
    if (!splits.empty() && !how.place(rule, factor, splits))
      return std::nullopt;
  return how;
}

/// A sharding with which the user needs no reshard.
std::optional<std::string> Explainer::remedyAtUser(OpOperand &use, const TensorSharding &from) {
  Operation *user = use.getOwner();
  if (user->hasTrait<OpTrait::IsTerminator>())
    return from.unreduced.empty()
               ? std::optional("annotate " + resultName(use) + " as " + print(from))
               : std::nullopt;
  if (user->hasAttr(kConstraintAttr))
    return "leave out the " + nameOf(user) + ", or make it " + print(from);
  ShardingRule rule = getShardingRule(user);
  unsigned i = use.getOperandNumber();
  if (i >= rule.operands.size() || user->getNumResults() != 1 || isa<TransferOp>(user))
    return std::nullopt;
  std::optional<OpSharding> how = factorsFor(rule, rule.operands[i], from);
  ChoiceContext context = recordedContext(user, axes);
  context.operands[i] = from;
  for (Axis axis : from.unreduced)
    if (how)
      how = passOn(user, rule, *how, axis, rule.partOf(i), context);
  if (!how || operandSharding(rule, *how, i, rankOf(use.get())) != from)
    return std::nullopt;
  Value result = user->getResult(0);
  TensorSharding leaves = resultSharding(rule, *how, 0, rankOf(result));
  if (leaves == axes.read(result))
    return std::nullopt;
  return "constrain the result of " + nameOf(user) + " to " + print(leaves);
}

/// A sharding of the producer with which the user needs no reshard.
std::optional<std::string> Explainer::remedyAtProducer(Value root, const TensorSharding &to) {
  Operation *op = root.getDefiningOp();
  if (!op)
    return to.unreduced.empty() ? std::optional("annotate " + nameOf(root) + " as " + print(to))
                                : std::nullopt;
  if (op->hasAttr(kConstraintAttr))
    return "make the " + nameOf(op) + " " + print(to);
  ShardingRule rule = getShardingRule(op);
  unsigned i = cast<OpResult>(root).getResultNumber();
  if (i >= rule.results.size() || isa<TransferOp>(op))
    return std::nullopt;
  std::optional<OpSharding> how = factorsFor(rule, rule.results[i], to);
  if (!how || resultSharding(rule, *how, i, rankOf(root)) != to)
    return std::nullopt;
  std::string changes;
  for (auto [j, operand] : llvm::enumerate(op->getOperands())) {
    if (!isa<RankedTensorType>(operand.getType()) || isZeroConstant(operand))
      continue;
    TensorSharding takes = operandSharding(rule, *how, j, rankOf(operand));
    if (takes != axes.read(operand))
      changes += (changes.empty() ? "" : ", ") + nameOf(operand) + " as " + print(takes);
  }
  return "constrain the result of " + nameOf(op) + " to " + print(to) +
         (changes.empty() ? "" : ", which takes " + changes);
}

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//

/// The value before any reshard except a user's.
static Value rootOf(Value value) {
  while (auto reshard = value.getDefiningOp<ReshardOp>()) {
    if (reshard->hasAttr(kConstraintAttr))
      break;
    value = reshard.getOperand();
  }
  return value;
}

void Explainer::explain(ReshardOp reshard, ReshardReport &report) {
  ExplainedReshard explained;
  addCollectives(reshard, explained);
  if (explained.collectives.empty()) {
    ++report.numLocal;
    return;
  }
  Value root = rootOf(reshard.getOperand());
  TensorSharding from = axes.read(reshard.getOperand()), to = axes.read(reshard.getSharding());
  llvm::raw_string_ostream(explained.type) << reshard.getType();
  if (auto stage = reshard->getAttrOfType<IntegerAttr>(kStageAttr))
    explained.stage = stage.getInt();
  explained.producer = describeProducer(root);
  SmallVector<OpOperand *> uses;
  if (reshard->hasAttr(kConstraintAttr))
    uses.push_back(&reshard->getOpOperand(0));
  else
    for (OpOperand &use : reshard->getUses())
      if (uses.empty() || uses.back()->getOwner() != use.getOwner())
        uses.push_back(&use);
  // In program order; use lists are reversed.
  std::reverse(uses.begin(), uses.end());
  for (OpOperand *use : uses)
    explained.users.push_back(describeUser(*use, to));
  for (Axis axis : differences(from, to, axes)) {
    for (std::string &text : annotationsOf(axis, root, nullptr))
      addOnce(explained.producer.because, std::move(text));
    for (auto [use, end] : llvm::zip_equal(uses, explained.users)) {
      SmallVector<Value> around(use->getOwner()->getResults());
      for (Value operand : use->getOwner()->getOperands())
        if (operand != reshard.getResult() && operand != reshard.getOperand())
          around.push_back(operand);
      for (std::string &text : annotationsOf(axis, around, reshard))
        addOnce(end.because, std::move(text));
    }
  }
  if (auto remedy = remedyAtProducer(root, to))
    addOnce(explained.remedies, *remedy);
  for (OpOperand *use : uses)
    if (auto remedy = remedyAtUser(*use, axes.read(root)))
      addOnce(explained.remedies, *remedy);
  report.bytes += explained.bytes;
  report.reshards.push_back(std::move(explained));
}

ReshardReport mlir::st::explainReshards(ModuleOp module) {
  ReshardReport report;
  MeshOp mesh = getMesh(module);
  if (!mesh)
    return report;
  MeshAxes axes(mesh);
  report.microBatches = axes.size(kMicroAxis);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Explainer explainer(function, axes);
    function.walk([&](ReshardOp reshard) { explainer.explain(reshard, report); });
  }
  // Equal ones are in program order.
  SmallVector<std::pair<int64_t, size_t>> order;
  for (auto [i, reshard] : llvm::enumerate(report.reshards))
    order.push_back({-reshard.bytes, i});
  llvm::sort(order);
  std::vector<ExplainedReshard> sorted;
  for (auto [bytes, i] : order)
    sorted.push_back(std::move(report.reshards[i]));
  report.reshards = std::move(sorted);
  report.numNarrowed = axes.plans().numNarrowed;
  return report;
}
