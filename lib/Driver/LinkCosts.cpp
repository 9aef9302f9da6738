#include "lib/Driver/LinkCosts.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Timing/DtuTopology.h"

using namespace mlir;
using namespace mlir::st;

/// The rank that follows another on the ring along an axis; `stride` is the number of ranks between
/// neighbours.
static int64_t nextOnRing(int64_t rank, int64_t size, int64_t stride) {
  bool isLast = rank / stride % size == size - 1;
  return isLast ? rank - (size - 1) * stride : rank + stride;
}

/// Per axis the picoseconds a byte takes, and the longest latency.
static void recordSpeed(ModuleOp module, const ::st::proto::DtuDescription &description,
                        ArrayRef<double> perByte, ::st::Picoseconds latency) {
  double cyclesPerNs = description.clock_ghz().value();
  auto flops = [&](double macsPerCoreCycle) {
    return static_cast<int64_t>(2 * macsPerCoreCycle *
                                static_cast<double>(description.cores_per_cluster()) * cyclesPerNs);
  };
  constexpr double picosecondsPerUs = 1e6;
  auto rates = llvm::map_to_vector(perByte, [](double cost) {
    return cost > 0 ? static_cast<int64_t>(picosecondsPerUs / cost) : int64_t(0);
  });
  MLIRContext *context = module.getContext();
  module->setAttr(kSpeedAttr,
                  SpeedAttr::get(context, flops(description.fp32_macs_per_core_cycle().value()),
                                 flops(description.bf16_macs_per_core_cycle().value()),
                                 static_cast<int64_t>(description.l3_gbytes_per_second().value() /
                                                      description.clusters_per_chip()),
                                 static_cast<int64_t>(2 * description.dte_latency_ns().value()),
                                 DenseI64ArrayAttr::get(context, rates), latency / 1000));
}

void mlir::st::recordLinkCosts(ModuleOp module, const ::st::proto::DtuDescription &description) {
  MeshOp mesh = getMesh(module);
  auto stages = module->getAttrOfType<ArrayAttr>("st.devices");
  if (!mesh || !stages)
    return;
  ::st::DtuTopology topology(description, description.max_chips());
  SmallVector<double> costs(mesh.getAxisSizes().size(), 0);
  ::st::Picoseconds latency = 0;
  for (Attribute stage : stages) {
    SmallVector<::st::DtuPlace> places;
    for (int64_t device : cast<DenseI64ArrayAttr>(stage).asArrayRef())
      places.push_back(::st::dtuPlace(description, device).value());
    int64_t stride = 1, count = places.size();
    for (size_t axis = costs.size(); axis-- > 0;) {
      int64_t size = mesh.getAxisSizes()[axis];
      for (int64_t rank = 0; size > 1 && rank < count; ++rank) {
        ::st::LinkPath path = topology.path(places[rank], places[nextOnRing(rank, size, stride)]);
        costs[axis] = std::max(costs[axis], path.perByte);
        latency = std::max(latency, path.latency);
      }
      stride *= size;
    }
  }
  recordSpeed(module, description, costs, latency);
  // Of ranks on one device, and of axes of one position, there are no links.
  double fastest = 0;
  for (double cost : costs)
    if (cost > 0 && (fastest == 0 || cost < fastest))
      fastest = cost;
  bool isUniform = true;
  for (double &cost : costs) {
    cost = cost > 0 ? cost / fastest : 1;
    isUniform &= cost == 1;
  }
  if (!isUniform)
    mesh->setAttr(kLinkCostsAttr, DenseF64ArrayAttr::get(module.getContext(), costs));
}
