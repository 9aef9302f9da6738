// Handles requests of a program for the shardings of values.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "plugins/pjrt/compile/HostSteps.h"

namespace st::pjrt {

/// The target of a custom call, without results, that requests the sharding of its operand. The
/// number of the request is in the backend_config.
constexpr char kInspectSharding[] = "st_inspect_sharding";

/// Removes the calls that request shardings, and adds the shardings to `program`. `compile`
/// compiles a copy of the function whose additional results are the inspected values. In the body
/// of a computation on shards a value is manual.
absl::Status resolveInspections(mlir::ModuleOp module, const SegmentCompiler &compile,
                               proto::PluginProgram &program);

} // namespace st::pjrt
