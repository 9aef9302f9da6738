#include "lib/Driver/Prediction/LinkCosts.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Timing/DtuTopology.h"

using namespace mlir;
using namespace mlir::st;

/// The rank after another one on the ring along an axis; `stride` is the distance between
/// neighbours.
static int64_t nextOnRing(int64_t rank, int64_t size, int64_t stride) {
  bool isLast = rank / stride % size == size - 1;
  return isLast ? rank - (size - 1) * stride : rank + stride;
}

namespace {
struct Link {
  double perByte = 0; ///< picoseconds
  ::st::Picoseconds latency = 0;
};

/// Work of a device per nanosecond.
struct DeviceSpeed {
  int64_t flops = 0, flops16 = 0, vectorBytes = 0, bytes = 0;
  int64_t kernelNs = 0;
};
} // namespace

/// Records the device speeds, and those of links, given the time per byte along each axis.
static void recordSpeed(ModuleOp module, const DeviceSpeed &speed, ArrayRef<double> perByte,
                        ::st::Picoseconds latency) {
  constexpr double picosecondsPerUs = 1e6;
  auto rates = llvm::map_to_vector(perByte, [](double cost) {
    return cost > 0 ? static_cast<int64_t>(picosecondsPerUs / cost) : int64_t(0);
  });
  MLIRContext *context = module.getContext();
  module->setAttr(kSpeedAttr,
                  SpeedAttr::get(context, speed.flops, speed.flops16, speed.vectorBytes,
                                 speed.bytes, speed.kernelNs,
                                 DenseI64ArrayAttr::get(context, rates), latency / 1000));
}

/// `findLink` returns the link between two devices, given their ids.
static void recordCosts(ModuleOp module, const DeviceSpeed &speed,
                        llvm::function_ref<Link(int64_t, int64_t)> findLink) {
  MeshOp mesh = getMesh(module);
  auto stages = module->getAttrOfType<ArrayAttr>("st.devices");
  if (!mesh || !stages)
    return;
  SmallVector<double> costs(mesh.getAxisSizes().size(), 0);
  ::st::Picoseconds latency = 0;
  for (Attribute stage : stages) {
    ArrayRef<int64_t> devices = cast<DenseI64ArrayAttr>(stage).asArrayRef();
    int64_t stride = 1, count = devices.size();
    for (size_t axis = costs.size(); axis-- > 0;) {
      int64_t size = mesh.getAxisSizes()[axis];
      for (int64_t rank = 0; size > 1 && rank < count; ++rank) {
        Link link = findLink(devices[rank], devices[nextOnRing(rank, size, stride)]);
        costs[axis] = std::max(costs[axis], link.perByte);
        latency = std::max(latency, link.latency);
      }
      stride *= size;
    }
  }
  recordSpeed(module, speed, costs, latency);
}

void mlir::st::recordLinkCosts(ModuleOp module, const ::st::proto::DtuDescription &description) {
  ::st::DtuTopology topology(description, description.max_chips());
  auto flops = [&](double macsPerCoreCycle) {
    return static_cast<int64_t>(2 * macsPerCoreCycle *
                                static_cast<double>(description.cores_per_cluster()) *
                                description.clock_ghz().value());
  };
  DeviceSpeed speed{flops(description.fp32_macs_per_core_cycle().value()),
                    flops(description.bf16_macs_per_core_cycle().value()),
                    static_cast<int64_t>(description.vector_bytes_per_cycle().value() *
                                         static_cast<double>(description.cores_per_cluster()) *
                                         description.clock_ghz().value()),
                    static_cast<int64_t>(description.l3_gbytes_per_second().value() /
                                         description.clusters_per_chip()),
                    static_cast<int64_t>(2 * description.dte_latency_ns().value())};
  recordCosts(module, speed, [&](int64_t from, int64_t to) {
    ::st::LinkPath path = topology.path(::st::dtuPlace(description, from).value(),
                                        ::st::dtuPlace(description, to).value());
    return Link{path.perByte, path.latency};
  });
}

void mlir::st::recordLinkCosts(ModuleOp module, const ::st::proto::GpuDescription &description) {
  constexpr double perNs = 1e3, picoseconds = 1e3;
  // A multiply-add on 4 bytes takes the time of one other operation.
  constexpr double bytesPerFlop = 4.0 / 2;
  DeviceSpeed speed{static_cast<int64_t>(perNs * description.f32_tflops().value()),
                    static_cast<int64_t>(perNs * description.f16_tflops().value()),
                    static_cast<int64_t>(bytesPerFlop * perNs * description.f32_tflops().value()),
                    static_cast<int64_t>(description.memory_gbytes_per_second().value()),
                    static_cast<int64_t>(description.launch_ns().value())};
  auto link = [&](const ::st::proto::Figure &bytesPerNs, const ::st::proto::Figure &ns) {
    return Link{picoseconds / bytesPerNs.value(),
                static_cast<::st::Picoseconds>(picoseconds * ns.value())};
  };
  const int64_t gpus = description.gpus_per_node();
  recordCosts(module, speed, [&](int64_t from, int64_t to) {
    if (from == to)
      return Link();
    return from / gpus == to / gpus
               ? link(description.node_gbytes_per_second(), description.node_latency_ns())
               : link(description.network_gbytes_per_second(), description.network_latency_ns());
  });
}
