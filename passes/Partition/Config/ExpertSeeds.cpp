#include "passes/Partition/Config/ExpertSeeds.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "passes/Partition/Config/SeedShardings.h"

using namespace mlir;
using namespace mlir::st;

static std::optional<Axis> expertAxis(const MeshAxes &axes, MLIRContext *context) {
  std::optional<Axis> axis = axes.lookup(StringAttr::get(context, kExpertAxis));
  return axis && axes.size(*axis) > 1 ? axis : std::nullopt;
}

LogicalResult mlir::st::checkExperts(func::FuncOp function, const ParallelConfig &config,
                                     const ParameterSeeds &rules, const MeshAxes &axes) {
  std::optional<Axis> expert = expertAxis(axes, function.getContext());
  if (!expert || config.expertCount == 1)
    return success();
  auto error = [&] {
    return emitError(config.locate("expert", function.getContext()))
           << "expert is " << config.expertCount;
  };
  bool splits =
      llvm::any_of(rules, [&](const auto &rule) { return rule.second.isSplitOver(*expert); });
  for (BlockArgument argument : function.getArguments()) {
    if (!hasNamedRows(argument) || rules.contains(argument))
      continue;
    splits = true;
    int64_t experts = cast<RankedTensorType>(argument.getType()).getDimSize(0);
    if (experts < axes.size(*expert))
      return error() << ", more than the " << experts << " experts of a layer";
  }
  if (splits)
    return success();
  return error() << ", but the model has no experts, and no rule in parameters splits anything "
                    "over the axis \"expert\"";
}

ShardingAttr mlir::st::splitExperts(BlockArgument parameter, ShardingAttr seed,
                                    const MeshAxes &axes) {
  std::optional<Axis> expert = expertAxis(axes, parameter.getContext());
  if (!expert || !hasNamedRows(parameter))
    return seed;
  TensorSharding sharding = axes.read(seed);
  sharding.dims[0] = splitAt(*expert, axes.size(*expert), /*outer=*/1);
  return axes.write(sharding);
}

DenseSet<BlockArgument> mlir::st::findExperts(func::FuncOp function, const ParameterSeeds &rules,
                                              const MeshAxes &axes) {
  DenseSet<BlockArgument> experts;
  std::optional<Axis> expert = expertAxis(axes, function.getContext());
  auto isLookedUp = [](BlockArgument parameter) {
    return llvm::any_of(parameter.getUses(),
                        [&](OpOperand &use) { return readsParts(use, parameter); });
  };
  for (BlockArgument argument : function.getArguments()) {
    auto rule = rules.find(argument);
    bool isRuled = rule != rules.end();
    if (expert && (isRuled ? rule->second.isSplitOver(*expert)
                           : hasNamedRows(argument) && !isLookedUp(argument)))
      experts.insert(argument);
  }
  return experts;
}
