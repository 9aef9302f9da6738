#include "passes/Partition/Stages/LayerFlow.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Partition/AxisPlace.h"
#include "passes/Partition/Config/SeedShardings.h"

using namespace mlir;
using namespace mlir::st;

LayerFlow::LayerFlow(func::FuncOp function, const MeshAxes &axes, Axis axis)
    : function(function), axes(axes), axis(axis) {}

SmallVector<Operation *> mlir::st::forwardOps(func::FuncOp function) {
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> worklist;
  for (OpOperand &result : terminator->getOpOperands()) {
    auto role = function.getResultAttrOfType<StringAttr>(result.getOperandNumber(), kRoleAttr);
    if (role && role.getValue() == "loss")
      worklist.push_back(result.get());
  }
  if (worklist.empty())
    llvm::append_range(worklist, terminator->getOperands());
  DenseSet<Operation *> found;
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp(); op && found.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  SmallVector<Operation *> ops;
  for (Operation &op : function.front().without_terminator())
    if (found.contains(&op))
      ops.push_back(&op);
  return ops;
}

//===----------------------------------------------------------------------===//
// Flow
//===----------------------------------------------------------------------===//

/// Adds the splits of `from` for which `to` has room.
static void merge(const Splits &from, Splits &to, const MeshAxes &axes,
                  SmallVectorImpl<bool> &placed) {
  for (const Split &split : from) {
    if (split.axis == kUnsplit || placed[split.axis])
      continue;
    auto united = unite(to, splitAt(split.axis, axes.size(split.axis), *outerOf(from, split.axis)));
    if (!united)
      continue;
    to = std::move(*united);
    placed[split.axis] = true;
  }
}

/// The splits of an op's factors by its operands. Each axis splits one factor, the first in the
/// order of the operands; weights come first.
SmallVector<Splits, 4> LayerFlow::factorsOf(Operation *op, const ShardingRule &rule,
                                            const Flow &flow) const {
  SmallVector<Splits, 4> merged(rule.factors.size());
  SmallVector<bool, 4> placed(axes.count());
  for (bool ofWeights : {true, false})
    for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
      auto it = flow.find(op->getOperand(i));
      SmallVector<Splits, 4> factors(rule.factors.size());
      if (it == flow.end() || traces.contains(it->first) != ofWeights)
        continue;
      (void)readFactors(rule, tensor, it->second, factors);
      for (auto [factor, splits] : llvm::enumerate(factors))
        merge(splits, merged[factor], axes, placed);
    }
  return merged;
}

void LayerFlow::flowThrough(Operation *op, const ShardingRule &rule, Flow &flow,
                            Fits fitsResult) const {
  SmallVector<Splits, 4> factors = factorsOf(op, rule, flow);
  for (auto [splits, factor] : llvm::zip_equal(factors, rule.factors))
    if (factor.kind != FactorKind::Parallel)
      splits.clear();
  for (auto [result, tensor] : llvm::zip(op->getResults(), rule.results))
    if (TensorSharding sharding = composeDims(rule, tensor, factors);
        !sharding.isReplicated() &&
        fitsResult(cast<RankedTensorType>(result.getType()).getShape(), sharding))
      flow[result] = std::move(sharding);
}

/// The batch split like its arguments, without micro-batches; the sequence over the axis.
void LayerFlow::startRows() {
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (getRole(argument) != "batch" || !type)
      continue;
    TensorSharding sharding = axes.read(Value(argument));
    for (Splits &splits : sharding.dims)
      eraseAxis(splits, kMicroAxis);
    if (type.getRank() > 1) {
      int64_t outer = 1; // after the axes that already split the sequence into contiguous parts
      for (const Split &split : sharding.dims[1]) {
        if (split.axis == kUnsplit)
          break;
        outer *= split.size;
      }
      auto united = unite(sharding.dims[1], splitAt(axis, axes.size(axis), outer));
      if (united && type.getDimSize(1) >= outer * axes.size(axis))
        sharding.dims[1] = std::move(*united);
    }
    rows[argument] = std::move(sharding);
  }
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// An op that combines a weight with features by contraction.
static bool isProduct(Operation *op) {
  return isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp, stablehlo::GatherOp>(op);
}

std::optional<int64_t> LayerFlow::dimensionToSplit(OpOperand &use, const Trace &trace,
                                                   const ShardingRule &rule, const Splits *met,
                                                   int64_t metFactor) const {
  const TensorFactors &tensor = rule.operands[use.getOperandNumber()];
  bool isWeight = isProduct(use.getOwner()) && trace.dims.size() > 1;
  bool isTable = isa<stablehlo::GatherOp>(use.getOwner()) && use.getOperandNumber() == 0;
  if (!met && !isWeight)
    return std::nullopt;
  for (auto [dim, traced] : llvm::enumerate(trace.dims)) {
    if (traced < 0 || tensor[traced].empty())
      continue;
    int64_t factor = tensor[traced][0];
    FactorKind kind = rule.factors[factor].kind;
    bool fits = met ? factor == metFactor
                    : kind == (isTable ? FactorKind::Reduction : FactorKind::Parallel);
    if (fits)
      return dim;
  }
  return std::nullopt;
}

/// The split of a product's output dimension over the axis under which values computed from it
/// stay split.
Splits LayerFlow::splitOf(OpOperand &use, const ShardingRule &rule, int64_t factor) const {
  int64_t outer = 1;
  if (isProduct(use.getOwner()) && rule.factors[factor].kind == FactorKind::Parallel)
    for (auto [dim, parts] : llvm::enumerate(rule.results[0]))
      if (parts.size() == 1 && parts[0] == factor)
        outer = findAxisPlace(use.getOwner()->getResult(0), dim, axes.size(axis), forward);
  return splitAt(axis, axes.size(axis), outer);
}

void LayerFlow::decide(OpOperand &use, const ShardingRule &rule) {
  Trace trace = traces.lookup(use.get());
  SmallVector<Splits, 4> factors = factorsOf(use.getOwner(), rule, features);
  const Splits *met = nullptr;
  int64_t metFactor = 0;
  for (auto [factor, splits] : llvm::enumerate(factors))
    if (outerOf(splits, axis)) {
      met = &splits;
      metFactor = factor;
    }
  TensorSharding seed(trace.dims.size()),
      here(cast<RankedTensorType>(use.get().getType()).getRank());
  if (std::optional<int64_t> dim = dimensionToSplit(use, trace, rule, met, metFactor)) {
    const TensorFactors &tensor = rule.operands[use.getOperandNumber()];
    Splits splits = met ? splitAt(axis, axes.size(axis), *outerOf(*met, axis))
                        : splitOf(use, rule, tensor[trace.dims[*dim]][0]);
    seed.dims[*dim] = here.dims[trace.dims[*dim]] = splits;
    if (!fits(cast<RankedTensorType>(trace.parameter.getType()).getShape(), seed)) {
      tooSmall.push_back(trace.parameter);
      seed = TensorSharding(trace.dims.size());
      here = TensorSharding(here.dims.size());
    }
  }
  features[trace.parameter] = std::move(seed);
  features[use.get()] = std::move(here);
}

/// Returns true if an op leaves a partial sum, given how features and weights are split.
bool LayerFlow::leavesSum(Operation *op, const ShardingRule &rule) const {
  if (!isProduct(op))
    return false;
  SmallVector<Splits, 4> factors = factorsOf(op, rule, features);
  return llvm::any_of(llvm::zip_equal(factors, rule.factors), [&](auto pair) {
    auto &[splits, factor] = pair;
    return factor.kind == FactorKind::Reduction && outerOf(splits, axis);
  });
}

void LayerFlow::noteSum(Operation *op, const ShardingRule &rule) {
  auto it = rows.find(op->getResult(0));
  if (it == rows.end())
    return;
  if (auto add = dyn_cast<stablehlo::AddOp>(op);
      add && partial.contains(add.getLhs()) && partial.contains(add.getRhs())) {
    partial.erase(add.getLhs());
    partial.erase(add.getRhs());
    partial.insert({add, it->second});
  } else if (leavesSum(op, rule)) {
    partial.insert({op->getResult(0), it->second});
  }
}

/// Returns true if an op combines split and unsplit activations of one shape: a residual
/// connection, whose features do not stay split.
bool LayerFlow::meetsUnsharded(Operation *op) const {
  int64_t split = 0, all = 0;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType() && activations.contains(operand)) {
      auto it = features.find(operand);
      split += it != features.end() && it->second.isSplitOver(axis);
      ++all;
    }
  return split < all;
}

void LayerFlow::visit(Operation *op) {
  ShardingRule rule = getShardingRule(op);
  if (rule.operands.size() != op->getNumOperands())
    return;
  for (OpOperand &use : op->getOpOperands()) {
    auto it = traces.find(use.get());
    if (it == traces.end())
      continue;
    if (!onlyReorders(op, rule) && !readsParts(use, it->second.parameter)) {
      if (!features.contains(it->second.parameter))
        decide(use, rule);
      continue;
    }
    Trace trace = it->second;
    for (int64_t &dim : trace.dims)
      dim = followDimension(dim, rule);
    traces[op->getResult(0)] = std::move(trace);
  }
  if (!isPointwise(rule) || !meetsUnsharded(op))
    flowThrough(op, rule, features, fits);
  flowThrough(op, rule, rows, fitsDevices);
  noteSum(op, rule);
  if (isProduct(op) ||
      llvm::any_of(op->getOperands(), [&](Value value) { return activations.contains(value); }))
    activations.insert(op->result_begin(), op->result_end());
}

void LayerFlow::run() {
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && getRole(argument) == "parameter")
      traces[argument] = {argument, tracedDims(argument)};
  startRows();
  SmallVector<Operation *> ops = forwardOps(function);
  forward.insert(ops.begin(), ops.end());
  llvm::for_each(ops, [&](Operation *op) { visit(op); });
}

TensorSharding LayerFlow::seedOf(BlockArgument parameter) const {
  auto it = features.find(parameter);
  return it != features.end()
             ? it->second
             : TensorSharding(cast<RankedTensorType>(parameter.getType()).getRank());
}
