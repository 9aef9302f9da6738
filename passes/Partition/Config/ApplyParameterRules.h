// What the rules of a parallel config mean for the parameters of a model.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Partition/Config/ParallelConfig.h"

namespace mlir::st {

using ParameterSeeds = DenseMap<BlockArgument, TensorSharding>;

/// The sharding of every parameter of `function` that a rule names. Fails, with a diagnostic at the
/// rule, where a rule names none, an axis is not of the mesh, a parameter has too few dimensions or
/// a dimension has fewer elements than parts, or where two rules give one parameter different
/// shardings.
FailureOr<ParameterSeeds> applyParameterRules(func::FuncOp function, const ParallelConfig &config,
                                              const MeshAxes &axes);

} // namespace mlir::st
