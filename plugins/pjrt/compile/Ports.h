// Arguments and results of a compiled function, and how devices hold them.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include "absl/status/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace st::pjrt {

/// Takes types, names and donations off @main. Unimplemented names a type that devices do not have.
absl::Status addPorts(mlir::ModuleOp module, proto::PluginProgram &program);

/// Says of each port what a device holds, by the program's code.
absl::Status placePorts(proto::PluginProgram &program);

/// A sharding as HLO's text has it: "{devices=[2,1]0,1}".
std::string printSharding(const hlo::OpSharding &sharding);

} // namespace st::pjrt
