// The attributes of a module that record a parallel config: types, mesh, stages, devices, schedule.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Partition/Config/ParallelConfig.h"

namespace mlir::st {

/// Axes of the mesh that a config describes.
constexpr llvm::StringLiteral kTensorAxis = "tensor", kDataAxis = "data", kContextAxis = "context";

/// Records the types in which products and reductions over devices are computed. The other types of
/// a step are chosen before differentiation; fails, with a diagnostic, if the file contradicts
/// them.
LogicalResult applyPrecision(ModuleOp module, const ParallelConfig &config);

/// Creates the mesh, or completes the program's own, and records stages, devices, schedule and
/// buckets on the module. An empty `schedule` means the file's, or the default of its mode. Fails,
/// with a diagnostic, if the file's numbers are inconsistent.
LogicalResult setLayoutAttributes(func::FuncOp function, const ParallelConfig &config,
                                  StringRef schedule);

} // namespace mlir::st
