// Hypothetical hardware: changes to a cluster's figures.
#ifndef ST_TOOLS_ST_PLAN_WHATIF_H
#define ST_TOOLS_ST_PLAN_WHATIF_H

#include "lib/Costs/GpuCosts.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mlir::st {

/// Applies "network:x2,memory:40GB": a factor of any figure, the size of a device's memory, or the
/// total rate of a node's cards (network:135Gb, bits a second). InvalidArgument for another change,
/// or for a figure that the cluster does not have.
absl::Status changeHardware(::st::proto::ClusterDescription &cluster, ::st::GpuConstants &constants,
                            absl::string_view changes);

} // namespace mlir::st

#endif // ST_TOOLS_ST_PLAN_WHATIF_H
