// Shardings of values that a program asks for.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "plugins/pjrt/compile/HostSteps.h"

namespace st::pjrt {

/// The target of a custom call without results that asks for the sharding of its operand; its
/// number is in the backend_config.
constexpr char kInspectSharding[] = "st_inspect_sharding";

/// Removes the calls that ask for shardings, and adds their answers to `program`. `compile`
/// compiles a copy of the function whose additional results are the values asked for. In the body
/// of a computation on shards a value is manual.
absl::Status answerInspections(mlir::ModuleOp module, const SegmentCompiler &compile,
                               proto::PluginProgram &program);

} // namespace st::pjrt
