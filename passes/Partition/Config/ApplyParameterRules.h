// Applies the parameter rules of a parallel config to a model.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Partition/Config/ParallelConfig.h"

namespace mlir::st {

using ParameterSeeds = DenseMap<BlockArgument, TensorSharding>;

/// The sharding of every parameter of `function` that a rule names. Fails, with a diagnostic at the
/// rule, if a rule matches no parameter, an axis is not in the mesh, a parameter has too few
/// dimensions or a dimension fewer elements than parts, or two rules give one parameter different
/// shardings.
FailureOr<ParameterSeeds> applyParameterRules(func::FuncOp function, const ParallelConfig &config,
                                              const MeshAxes &axes);

} // namespace mlir::st
