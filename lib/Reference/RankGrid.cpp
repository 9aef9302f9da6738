#include "lib/Reference/RankGrid.h"

namespace mlir::st::ref {

void RankGrid::addSpatialAxes(MeshOp mesh) {
  for (auto [name, size] : llvm::zip_equal(mesh.getAxisNames(), mesh.getAxisSizes())) {
    names.push_back(cast<StringAttr>(name).str());
    sizes.push_back(size);
  }
}

RankGrid RankGrid::ofDevices(MeshOp mesh) {
  RankGrid grid;
  grid.addSpatialAxes(mesh);
  return grid;
}

RankGrid RankGrid::ofDevicesAndMicroBatches(MeshOp mesh) {
  RankGrid grid;
  grid.names.push_back(MeshOp::kMicro.str());
  grid.sizes.push_back(static_cast<int64_t>(mesh.getMicro()));
  grid.addSpatialAxes(mesh);
  return grid;
}

RankGrid RankGrid::ofAxes(ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes) {
  RankGrid grid;
  for (StringAttr name : names)
    grid.names.push_back(name.str());
  grid.sizes.assign(sizes.begin(), sizes.end());
  return grid;
}

RankGrid RankGrid::ofReplicasAndPartitions(int64_t replicas, int64_t partitions) {
  RankGrid grid;
  grid.names = {kReplica.str(), kPartition.str()};
  grid.sizes = {replicas, partitions};
  return grid;
}

size_t RankGrid::indexOf(StringRef axis) const {
  const std::string *found = llvm::find(names, axis);
  assert(found != names.end() && "the verifier knows the mesh's axes");
  return static_cast<size_t>(found - names.begin());
}

int64_t RankGrid::getCoordinate(int64_t rank, StringRef axis) const {
  size_t index = indexOf(axis);
  return rank / rowMajorStrides(sizes)[index] % sizes[index];
}

int64_t RankGrid::getPosition(int64_t rank, ArrayRef<StringRef> axes) const {
  int64_t position = 0;
  for (StringRef axis : axes)
    position = position * sizes[indexOf(axis)] + getCoordinate(rank, axis);
  return position;
}

int64_t RankGrid::getSize(ArrayRef<StringRef> axes) const {
  int64_t size = 1;
  for (StringRef axis : axes)
    size *= sizes[indexOf(axis)];
  return size;
}

SmallVector<SmallVector<int64_t>> RankGrid::getGroups(ArrayRef<StringRef> axes) const {
  SmallVector<StringRef> others;
  for (const std::string &name : names)
    if (!llvm::is_contained(axes, name))
      others.push_back(name);
  SmallVector<SmallVector<int64_t>> groups(
      static_cast<size_t>(getSize(others)),
      SmallVector<int64_t>(static_cast<size_t>(getSize(axes))));
  for (int64_t rank = 0; rank < getNumRanks(); ++rank)
    groups[getPosition(rank, others)][getPosition(rank, axes)] = rank;
  return groups;
}

} // namespace mlir::st::ref
