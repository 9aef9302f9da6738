// Arguments and results of a compiled function, and how devices hold them.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include "absl/status/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace st::pjrt {

/// Takes the type of a value; `what` names it in errors, as for addPorts.
absl::Status addPort(mlir::Type type, const std::string &what, proto::PluginPort &port);

/// Takes types, names and donations off @main. Unimplemented names a type that devices do not have.
absl::Status addPorts(mlir::ModuleOp module, proto::PluginProgram &program);

/// A mesh may have its devices in an order of its own. Notes it for the ports that are split over
/// such a mesh, and puts the devices in order, so that all meshes are alike.
void takeDeviceOrders(mlir::ModuleOp module, proto::PluginProgram &program);

/// Says of each port what a device holds, by the program's code.
absl::Status placePorts(proto::PluginProgram &program);

/// A sharding as HLO's text has it: "{devices=[2,1]0,1}".
std::string printSharding(const hlo::OpSharding &sharding);

} // namespace st::pjrt
