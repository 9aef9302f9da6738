#include "backends/dtu/codegen/Machine.h"

#include <algorithm>

using namespace mlir::dtu;

Machine Machine::of(const ::st::proto::DtuDescription &description) {
  Machine machine;
  double clusters = std::max(1u, description.clusters_per_chip());
  machine.cores = description.cores_per_cluster();
  machine.dteQueues = static_cast<int64_t>(description.dte_per_chip().value() / clusters);
  machine.l1Bytes = static_cast<int64_t>(description.l1_bytes_per_core().value());
  machine.l2Bytes = static_cast<int64_t>(description.l2_bytes_per_cluster().value());
  machine.workers = std::max<int64_t>(1, std::min(machine.cores, machine.dteQueues));
  machine.clock = description.clock_ghz().value();
  machine.l3Rate = description.l3_gbytes_per_second().value() / clusters;
  machine.l2Rate = description.l2_gbytes_per_second().value();
  machine.l1Rate = description.l1_gbytes_per_second().value();
  machine.dteRate = description.dte_gbytes_per_second().value();
  machine.dteLatency = description.dte_latency_ns().value();
  machine.syncTime = description.sync_ns().value();
  machine.macs32 = description.fp32_macs_per_core_cycle().value();
  machine.macs16 = description.bf16_macs_per_core_cycle().value();
  machine.matrixStart = description.matrix_start_cycles().value();
  return machine;
}
