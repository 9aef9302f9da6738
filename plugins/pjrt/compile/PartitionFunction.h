// Partitions a function over several devices into the program of one device.
#pragma once

#include "lib/Driver/Compiler.h"
#include "plugins/pjrt/compile/program.pb.h"

#include <string>

namespace st::pjrt {

/// A compilation of a function of one stage, one device per partition. `module` must outlive it.
mlir::st::CompileRequest requestFor(mlir::OwningOpRef<mlir::ModuleOp> &module,
                                    const std::string &target, mlir::ArrayRef<int64_t> hardwareIds);

/// Imports a function for a number of partitions. Fails with a diagnostic.
mlir::LogicalResult importSource(mlir::ModuleOp module, int64_t partitions);

/// Converts shardings to attributes, and computations on shards to computations on complete arrays.
mlir::LogicalResult importShardings(mlir::ModuleOp module);

/// Converts a function with imported shardings to one on complete arrays on one device.
void dropShardings(mlir::ModuleOp module);

/// Partitions the function of a compiled program again: returns the program of one device. Null
/// after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> partitionFunction(mlir::OwningOpRef<mlir::ModuleOp> module,
                                                    const proto::PluginProgram &program);

} // namespace st::pjrt
