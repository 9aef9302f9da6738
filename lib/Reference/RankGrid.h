// The virtual ranks on which a partitioned program is interpreted.
#ifndef ST_REFERENCE_RANKGRID_H
#define ST_REFERENCE_RANKGRID_H

#include "dialects/St/IR/StDialect.h"
#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

/// Ranks numbered row-major along named axes. By default there is one rank and no axes.
class RankGrid {
public:
  RankGrid() = default;

  /// The devices of one group: the spatial axes of the mesh.
  static RankGrid ofDevices(MeshOp mesh);

  /// The devices times the micro-batches: `micro` is a further, outermost axis, so that rank =
  /// micro-batch * devices + device.
  static RankGrid ofDevicesAndMicroBatches(MeshOp mesh);

  /// Devices along named axes.
  static RankGrid ofAxes(ArrayRef<StringAttr> names, ArrayRef<int64_t> sizes);

  /// The processes of a stablehlo program, replica by replica.
  static constexpr StringLiteral kReplica = "replica", kPartition = "partition";
  static RankGrid ofReplicasAndPartitions(int64_t replicas, int64_t partitions);

  int64_t getNumRanks() const { return numElements(sizes); }
  bool hasAxis(StringRef axis) const { return llvm::is_contained(names, axis); }
  int64_t getCoordinate(int64_t rank, StringRef axis) const;

  /// The coordinates along `axes` as one number, the first axis major.
  int64_t getPosition(int64_t rank, ArrayRef<StringRef> axes) const;

  /// The product of the axes' sizes.
  int64_t getSize(ArrayRef<StringRef> axes) const;

  /// The groups of ranks that differ only along `axes`, each in the order of the ranks' positions.
  SmallVector<SmallVector<int64_t>> getGroups(ArrayRef<StringRef> axes) const;

private:
  size_t indexOf(StringRef axis) const;
  void addSpatialAxes(MeshOp mesh);

  SmallVector<std::string> names;
  Shape sizes;
};

} // namespace mlir::st::ref

#endif // ST_REFERENCE_RANKGRID_H
