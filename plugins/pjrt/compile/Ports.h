// Arguments and results of a compiled function, and their shardings.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include "absl/status/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace st::pjrt {

/// Reads the type of a value; `what` names it in errors, as for addPorts.
absl::Status addPort(mlir::Type type, const std::string &what, proto::PluginPort &port);

/// Reads types, names and donations of @main. Unimplemented names a type without device support.
absl::Status addPorts(mlir::ModuleOp module, proto::PluginProgram &program);

/// Records the device order of each mesh with a permuted order in the ports that are sharded over
/// it, and sorts the mesh's devices, so that all meshes agree.
void takeDeviceOrders(mlir::ModuleOp module, proto::PluginProgram &program);

/// Sets the sharding of each port to the one that @main declares after `import-shardings`.
absl::Status placeDeclaredPorts(mlir::ModuleOp module, proto::PluginProgram &program);

/// Sets the sharding of each port that the program has to the one that it chose.
absl::Status placePorts(proto::PluginProgram &program);

/// A sharding in HLO's text form: "{devices=[2,1]0,1}".
std::string printSharding(const hlo::OpSharding &sharding);

} // namespace st::pjrt
