#include "passes/Propagation/MicroAnalysis.h"
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Interfaces/Shapes.h"
#include "dialects/St/Sharding/ChooseSharding.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;

TensorSharding MicroAnalysis::sharding(Value value) const {
  auto it = shardings.find(value);
  return it == shardings.end() ? TensorSharding(rankOf(value)) : it->second;
}

//===----------------------------------------------------------------------===//
// Forward: varying and unreduced values
//===----------------------------------------------------------------------===//

void MicroAnalysis::reduceForAll(Value value) {
  reduced.insert(value);
  // An earlier op used the value unreduced and must be visited again.
  changed |= passed.contains(value);
}

/// The factor of `rule` on which a tensor has micro, with its place.
static std::optional<std::pair<int64_t, Splits>>
microFactor(const ShardingRule &rule, const TensorFactors &tensor, const TensorSharding &sharding) {
  SmallVector<Splits, 4> factors(rule.factors.size());
  if (!readFactors(rule, tensor, sharding, factors))
    return std::nullopt;
  for (auto [factor, splits] : llvm::enumerate(factors))
    if (!splits.empty())
      return std::make_pair(static_cast<int64_t>(factor), splits);
  return std::nullopt;
}

/// Puts micro on the factor along which operands vary.
LogicalResult MicroAnalysis::placeVarying(const OpNode &node, OpSharding &how) {
  if (auto constrain = dyn_cast<ConstrainOp>(node.op)) {
    TensorSharding wanted =
        restrictTo(graph.axes.read(constrain.getSharding()), kMicroAxis, graph.axes);
    if (auto place = microFactor(node.rule, node.rule.results[0], wanted))
      (void)how.place(node.rule, place->first, place->second);
  }
  for (OpOperand &operand : node.op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    TensorSharding varying = sharding(operand.get());
    std::optional<int64_t> dim = varying.dimOf(kMicroAxis);
    if (!dim)
      continue;
    // All samples share the scale of an exact sum in a loop.
    const bool isExactLoop = isa<stablehlo::WhileOp>(node.op) &&
                             node.op->getParentOfType<ModuleOp>()->hasAttr(kExactSumsAttr);
    auto refuse = [&](const Twine &why) {
      return withNote(node.op->emitOpError("needs all of dimension ")
                          << *dim << " of operand " << i
                          << ", but it varies along the micro-batches" << why
                          << (isExactLoop ? "; exact sums over samples are not possible in a loop "
                                            "(--unroll of st-compile unrolls it)"
                                          : ""),
                      operand.get(), "the operand is defined here");
    };
    if (i >= node.rule.operands.size())
      return refuse("");
    auto place = microFactor(node.rule, node.rule.operands[i], varying);
    if (!place)
      return refuse("");
    auto [factor, splits] = *place;
    std::optional<int64_t> other = how.factorOf(node.rule, kMicroAxis, node.rule.partOf(i));
    if (other && other != factor)
      return refuse(" along another dimension than another operand does");
    if (!how.place(node.rule, factor, splits))
      return refuse("");
  }
  return success();
}

/// Keeps linear operands unreduced where that is legal and enlarges no value.
void MicroAnalysis::passOnUnreduced(const OpNode &node, OpSharding &how) {
  Operation *op = node.op;
  // Within an update, only sums are formed before the reduction: other work is better done once per
  // step than once per micro-batch.
  if (node.isPinned && node.rule.linearity != ShardingRule::Linearity::Jointly)
    return;
  // A constraint states whether it leaves a sum open.
  if (auto constrain = dyn_cast<ConstrainOp>(op);
      constrain && !graph.axes.read(constrain.getSharding()).isUnreducedOver(kMicroAxis))
    return;
  if (node.rule.results.empty() || (op->getNumResults() != 1 && node.rule.parts == 1) ||
      llvm::any_of(op->getOperands(), [&](Value operand) { return late.contains(operand); }))
    return;
  for (int64_t part = 0; part < node.rule.parts; ++part)
    if (!how.uses(node.rule, kMicroAxis, part))
      passOnUnreduced(node, part, how);
}

void MicroAnalysis::passOnUnreduced(const OpNode &node, int64_t part, OpSharding &how) {
  Operation *op = node.op;
  ChoiceContext context{graph.axes, {}, {}, {}, {}, {}, {}};
  int64_t largest = 0;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    std::optional<TensorSharding> state;
    if (!graph.isFree(operand))
      state = sharding(operand);
    if (state && state->isUnreducedOver(kMicroAxis) && node.rule.partOf(i) == part)
      largest = std::max(largest, cast<RankedTensorType>(operand.getType()).getNumElements());
    context.mayPass.push_back(!reduced.contains(operand));
    context.isZero.push_back(isZeroConstant(operand));
    context.operands.push_back(std::move(state));
  }
  if (cast<RankedTensorType>(op->getResult(part).getType()).getNumElements() > largest)
    return;
  if (auto passing = passOn(op, node.rule, how, kMicroAxis, part, context))
    how = std::move(*passing);
}

/// Values that regions capture must be equal for all micro-batches.
LogicalResult MicroAnalysis::checkCaptured(const OpNode &node) {
  for (Value value : node.captured) {
    TensorSharding state = sharding(value);
    if (state.isSplitOver(kMicroAxis))
      return withNote(
          node.op->emitOpError("reads a value in its region that varies along the micro-batches"),
          value, "the value is defined here");
    if (state.isUnreducedOver(kMicroAxis))
      reduceForAll(value);
  }
  return success();
}

LogicalResult MicroAnalysis::visit(const OpNode &node, OpSharding &how) {
  Operation *op = node.op;
  how = OpSharding(node.rule);
  bool isLate = llvm::any_of(op->getOperands(), [&](Value v) { return late.contains(v); });
  if (!node.isFree) {
    if (failed(placeVarying(node, how)) || failed(checkCaptured(node)))
      return failure();
    passOnUnreduced(node, how);
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!sharding(operand).isUnreducedOver(kMicroAxis))
      continue;
    if (operandSharding(node.rule, how, i, rankOf(operand)).isUnreducedOver(kMicroAxis)) {
      passed.insert(operand);
      continue;
    }
    reduceForAll(operand);
    // A count of tokens is known before the forward pass; a sum that depends on parameters only
    // after it.
    isLate |= graph.readsState(operand);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    if (isLate)
      late.insert(result);
    if (!node.isFree)
      shardings[result] = resultSharding(node.rule, how, i, rankOf(result));
  }
  return success();
}

LogicalResult MicroAnalysis::sweep() {
  changed = false;
  late.clear();
  passed.clear();
  for (BlockArgument argument : graph.function.getArguments())
    shardings[argument] = restrictTo(graph.axes.read(Value(argument)), kMicroAxis, graph.axes);
  for (const OpNode &node : graph.nodes)
    if (failed(visit(node, placements[graph.indexOf(node.op)])))
      return failure();
  for (Value result : graph.terminator->getOperands())
    if (sharding(result).isUnreducedOver(kMicroAxis))
      reduceForAll(result);
  return success();
}

/// Results that vary by micro-batch are concatenated.
LogicalResult MicroAnalysis::checkResults() const {
  for (OpOperand &operand : graph.terminator->getOpOperands()) {
    TensorSharding varying = sharding(operand.get());
    std::optional<int64_t> dim = varying.dimOf(kMicroAxis);
    if (!dim || varying.dims[*dim].front().axis != kUnsplit)
      continue;
    return withNote(graph.terminator->emitOpError("returns operand ")
                        << operand.getOperandNumber() << " as " << graph.axes.write(varying)
                        << ", in which a micro-batch is not one contiguous part of dimension "
                        << *dim,
                    operand.get(), "the operand is defined here");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Backward: values used only along micro
//===----------------------------------------------------------------------===//

/// The one sharding over micro in which all users take a value.
std::optional<TensorSharding> MicroAnalysis::wantedByUsers(Value value) const {
  std::optional<TensorSharding> wanted;
  for (OpOperand &use : value.getUses()) {
    const OpNode *user = graph.nodeOf(use.getOwner());
    if (!user)
      return std::nullopt;
    TensorSharding needed =
        operandSharding(user->rule, placement(*user), use.getOperandNumber(), rankOf(value));
    if (!needed.isSplitOver(kMicroAxis) || (wanted && *wanted != needed))
      return std::nullopt;
    wanted = std::move(needed);
  }
  return wanted;
}

void MicroAnalysis::followUsers() {
  for (const OpNode &node : llvm::reverse(graph.nodes)) {
    OpSharding &how = placements[graph.indexOf(node.op)];
    if (node.isFree || node.isPinned || node.op->getNumResults() != 1 ||
        node.rule.results.empty() || how.uses(node.rule, kMicroAxis, /*part=*/0) ||
        !isMemoryEffectFree(node.op))
      continue;
    Value result = node.op->getResult(0);
    std::optional<TensorSharding> wanted = wantedByUsers(result);
    if (!wanted)
      continue;
    auto place = microFactor(node.rule, node.rule.results[0], *wanted);
    if (place && how.place(node.rule, place->first, place->second))
      shardings[result] = *wanted;
  }
}

LogicalResult MicroAnalysis::run() {
  placements.resize(graph.nodes.size());
  if (graph.axes.size(kMicroAxis) == 1) {
    for (const OpNode &node : graph.nodes)
      placements[graph.indexOf(node.op)] = OpSharding(node.rule);
    return success();
  }
  do {
    if (failed(sweep()))
      return failure();
  } while (changed);
  if (failed(checkResults()))
    return failure();
  followUsers();
  return success();
}
