#include "backends/dtu/codegen/emission/Machine.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>

using namespace mlir::dtu;

Machine::Machine(const ::st::proto::DtuDescription &description) : costs(description) {
  double clusters = std::max(1u, description.clusters_per_chip());
  cores = description.cores_per_cluster();
  dteQueues = static_cast<int64_t>(description.dte_per_chip().value() / clusters);
  l1Bytes = static_cast<int64_t>(description.l1_bytes_per_core().value());
  l2Bytes = static_cast<int64_t>(description.l2_bytes_per_cluster().value());
  workers = std::max<int64_t>(1, std::min(cores, dteQueues));
  l3Rate = description.l3_gbytes_per_second().value() / clusters;
  l2Rate = description.l2_gbytes_per_second().value();
  dteRate = description.dte_gbytes_per_second().value();
  dteLatency = description.dte_latency_ns().value();
  syncTime = description.sync_ns().value();
}

int64_t Machine::burstBytes(int64_t elementBytes,
                            llvm::SmallVector<::st::AccessDim, 4> dims) const {
  llvm::sort(dims, [](const ::st::AccessDim &a, const ::st::AccessDim &b) {
    return std::abs(a.stride) < std::abs(b.stride);
  });
  return costs.burstBytes(elementBytes, dims);
}
