// The text of a compiled function, which JAX shows as HLO.
#pragma once

#include "plugins/pjrt/compile/program.pb.h"

#include "absl/status/statusor.h"

#include <string>

namespace st::pjrt {

/// Prints a function in StableHLO with the program's shardings. If several devices compute it, this
/// is the partitioned program of one of them, with its collectives; ops that StableHLO does not
/// have are custom calls ("st.all_slice"). Otherwise it is the function before compilation.
absl::StatusOr<std::string> printFunction(const proto::PluginProgram &program);

} // namespace st::pjrt
