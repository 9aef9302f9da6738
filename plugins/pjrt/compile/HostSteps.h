// Functions that call back to the host, as steps that the host runs.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace st::pjrt {

/// The custom call that represents a callback. Its backend_config is the callback's number.
constexpr char kHostCallback[] = "st_host_callback";

/// Returns true if a module has such a call.
bool callsHost(mlir::ModuleOp module);

/// Compiles a module whose @main has no callback.
using SegmentCompiler =
    std::function<absl::StatusOr<proto::PluginProgram>(mlir::OwningOpRef<mlir::ModuleOp>)>;

/// Splits @main, whose calls are inlined, at its callbacks and at the loops and conditions around
/// them. The ops between two of those become one program. Unimplemented names an op of another kind
/// that has a callback in a region.
absl::Status splitAtCallbacks(mlir::ModuleOp module, const SegmentCompiler &compile,
                              proto::PluginBlock &steps);

} // namespace st::pjrt
