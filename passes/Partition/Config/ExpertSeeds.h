// Expert parallelism: parameters of experts over the axis "expert".
#pragma once

#include "passes/Partition/Config/ApplyParameterRules.h"

namespace mlir::st {

constexpr StringLiteral kExpertAxis = "expert";

/// Checks that the axis "expert", if the mesh has it, splits the experts of the model or a
/// parameter that a rule names. Otherwise it would have the same effect as `data`.
LogicalResult checkExperts(func::FuncOp function, const ParallelConfig &config,
                           const ParameterSeeds &rules, const MeshAxes &axes);

/// The seed of a parameter that no rule names, with its experts split over the axis "expert", if
/// there are any.
ShardingAttr splitExperts(BlockArgument parameter, ShardingAttr seed, const MeshAxes &axes);

/// The parameters that stay split over the axis "expert" for use: by rules, or because products
/// read all of their experts. If each block of tokens looks up one expert, experts are gathered
/// instead.
DenseSet<BlockArgument> findExperts(func::FuncOp function, const ParameterSeeds &rules,
                                    const MeshAxes &axes);

} // namespace mlir::st
