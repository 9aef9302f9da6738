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

void mlir::st::recordLinkCosts(ModuleOp module, const ::st::proto::DtuDescription &description) {
  MeshOp mesh = getMesh(module);
  auto stages = module->getAttrOfType<ArrayAttr>("st.devices");
  if (!mesh || !stages)
    return;
  ::st::DtuTopology topology(description, description.max_chips());
  SmallVector<double> costs(mesh.getAxisSizes().size(), 0);
  for (Attribute stage : stages) {
    SmallVector<::st::DtuPlace> places;
    for (int64_t device : cast<DenseI64ArrayAttr>(stage).asArrayRef())
      places.push_back(::st::dtuPlace(description, device).value());
    int64_t stride = 1, count = places.size();
    for (size_t axis = costs.size(); axis-- > 0;) {
      int64_t size = mesh.getAxisSizes()[axis];
      for (int64_t rank = 0; size > 1 && rank < count; ++rank)
        costs[axis] =
            std::max(costs[axis],
                     topology.path(places[rank], places[nextOnRing(rank, size, stride)]).perByte);
      stride *= size;
    }
  }
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
