#include "passes/Partition/Config/ApplyParameterRules.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"

using namespace mlir;
using namespace mlir::st;

namespace {
class RuleApplication {
public:
  RuleApplication(func::FuncOp function, const ParallelConfig &config, const MeshAxes &axes)
      : function(function), config(config), axes(axes) {}

  LogicalResult apply(const ParameterRule &rule);
  ParameterSeeds seeds;

private:
  /// An error that begins with "parameters.<pattern> is <sharding>"; the caller appends the rest.
  InFlightDiagnostic error(const ParameterRule &rule) {
    return emitError(config.locateRule(rule.pattern, function.getContext()))
           << "parameters." << rule.pattern << " is " << printDims(rule);
  }
  LogicalResult checkAxes(const ParameterRule &rule);
  LogicalResult applyTo(BlockArgument parameter, StringRef name, const ParameterRule &rule);

  func::FuncOp function;
  const ParallelConfig &config;
  const MeshAxes &axes;
  /// The rule that produced a seed.
  DenseMap<BlockArgument, const ParameterRule *> origins;
};
} // namespace

LogicalResult RuleApplication::checkAxes(const ParameterRule &rule) {
  llvm::SmallDenseSet<Axis> seen;
  for (const std::vector<std::string> &dim : rule.dims)
    for (const std::string &name : dim) {
      auto axis = axes.lookup(StringAttr::get(function.getContext(), name));
      if (!axis || *axis == kMicroAxis) {
        SmallVector<StringRef> known;
        for (Axis spatial = kMicroAxis + 1; spatial < axes.count(); ++spatial)
          known.push_back(axes.name(spatial));
        return error(rule) << ", but the mesh has no axis \"" << name
                           << "\" that splits parameters; expected " << llvm::join(known, " or ");
      }
      if (!seen.insert(*axis).second)
        return error(rule) << ", which has the axis \"" << name << "\" twice";
    }
  return success();
}

LogicalResult RuleApplication::applyTo(BlockArgument parameter, StringRef name,
                                       const ParameterRule &rule) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(parameter.getType()).getShape();
  if (rule.dims.size() > shape.size())
    return error(rule) << ", which has " << rule.dims.size() << " dimensions, but " << name
                       << " has " << shape.size();
  TensorSharding seed(shape.size());
  for (auto [dim, names] : llvm::enumerate(rule.dims)) {
    int64_t parts = 1;
    for (const std::string &axisName : names) {
      Axis axis = *axes.lookup(StringAttr::get(function.getContext(), axisName));
      // An axis of size 1 has no effect.
      if (axes.size(axis) > 1)
        seed.dims[dim] = *unite(seed.dims[dim], splitAt(axis, axes.size(axis), parts));
      parts *= axes.size(axis);
    }
    if (shape[dim] < parts)
      return error(rule) << ", which splits dimension " << dim << " of " << name << " into "
                         << parts << " parts; expected no more than its size " << shape[dim];
  }
  auto [it, isNew] = seeds.try_emplace(parameter, seed);
  if (!isNew && it->second != seed)
    return error(rule) << ", but parameters." << origins[parameter]->pattern
                       << ", which also matches " << name << ", is "
                       << printDims(*origins[parameter]);
  origins[parameter] = &rule;
  return success();
}

LogicalResult RuleApplication::apply(const ParameterRule &rule) {
  if (failed(checkAxes(rule)))
    return failure();
  llvm::GlobPattern pattern = compilePattern(rule);
  bool matches = false;
  for (BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
    if (getRole(argument) != "parameter" || !name || !isa<RankedTensorType>(argument.getType()) ||
        !pattern.match(name.getValue()))
      continue;
    matches = true;
    if (failed(applyTo(argument, name.getValue(), rule)))
      return failure();
  }
  if (!matches)
    return error(rule) << ", but no parameter of the model has a name that matches";
  return success();
}

FailureOr<ParameterSeeds> mlir::st::applyParameterRules(func::FuncOp function,
                                                        const ParallelConfig &config,
                                                        const MeshAxes &axes) {
  RuleApplication application(function, config, axes);
  for (const ParameterRule &rule : config.parameterRules)
    if (failed(application.apply(rule)))
      return failure();
  return std::move(application.seeds);
}
