#include "lib/Reference/Sharded.h"

#include "lib/Reference/DataMovement.h"
#include "lib/Reference/ScalarComputation.h"
#include "lib/Reference/TensorTypes.h"

#include <map>

namespace mlir::st::ref {
namespace {

BinaryKind toBinaryKind(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return BinaryKind::Add;
  case ReduceKind::Max:
    return BinaryKind::Max;
  case ReduceKind::Min:
    return BinaryKind::Min;
  case ReduceKind::And:
    return BinaryKind::And;
  case ReduceKind::Or:
    return BinaryKind::Or;
  }
  llvm_unreachable("all kinds are listed");
}

// The axes of each dimension that the grid has.
SmallVector<SmallVector<StringRef>> getAxes(ShardingAttr sharding, int64_t rank,
                                            const RankGrid &grid) {
  SmallVector<SmallVector<StringRef>> axes(static_cast<size_t>(rank));
  for (int64_t dim = 0; sharding && dim < rank; ++dim) {
    axes[dim] = sharding.getAxes(dim);
    llvm::erase_if(axes[dim], [&](StringRef axis) { return !grid.hasAxis(axis); });
  }
  return axes;
}

} // namespace

Tensor reduceAcross(ReduceKind kind, ArrayRef<Tensor> tensors) {
  BinaryComputation body(toBinaryKind(kind));
  ElementType type = tensors[0].getType(), wide = accumulatorType(body, type);
  Tensor result = convert(tensors[0], wide);
  for (const Tensor &tensor : tensors.drop_front())
    result = binary(toBinaryKind(kind), result, convert(tensor, wide));
  return convert(result, type);
}

LogicalResult shard(const Tensor &global, ShardingAttr sharding, const RankGrid &grid,
                    Operation *op, RankValues &pieces) {
  int64_t rank = global.getRank();
  if (sharding && sharding.getRank() != rank)
    return op->emitError("a sharding of rank ")
           << sharding.getRank() << " for a tensor of rank " << rank;
  auto axes = getAxes(sharding, rank, grid);
  Shape shape(global.getShape());
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t parts = grid.getSize(axes[dim]);
    if (shape[dim] % parts != 0)
      return op->emitError("dimension ")
             << dim << " of size " << shape[dim] << " does not divide into " << parts << " parts";
    shape[dim] /= parts;
  }
  std::map<Shape, Tensor> byStart;
  pieces.clear();
  for (int64_t r = 0; r < grid.getNumRanks(); ++r) {
    Shape starts;
    for (int64_t dim = 0; dim < rank; ++dim)
      starts.push_back(grid.getPosition(r, axes[dim]) * shape[dim]);
    Tensor &piece = byStart[starts];
    if (!piece)
      piece = slice(global, starts, Shape(starts.size(), 1), shape);
    pieces.push_back(piece);
  }
  return success();
}

LogicalResult unshard(const RankValues &pieces, ShardingAttr sharding, const RankGrid &grid,
                      Operation *op, const Twine &what, Tensor &global) {
  RankValues reduced = pieces;
  if (sharding)
    for (StringAttr axis : sharding.getUnreduced())
      for (ArrayRef<int64_t> ranks : grid.getGroups(axis.getValue())) {
        SmallVector<Tensor> group;
        for (int64_t r : ranks)
          group.push_back(reduced[r]);
        Tensor sum = reduceAcross(sharding.getKind(), group);
        for (int64_t r : ranks)
          reduced[r] = sum;
      }

  auto axes = getAxes(sharding, pieces[0].getRank(), grid);
  Shape shape(pieces[0].getShape());
  for (auto [dim, names] : llvm::zip_equal(shape, axes))
    dim *= grid.getSize(names);
  Tensor result(pieces[0].getType(), shape);
  std::map<Shape, int64_t> owner;
  Shape strides = rowMajorStrides(shape);
  size_t width = ::st::byteWidth(result.getType());
  for (int64_t r = 0; r < grid.getNumRanks(); ++r) {
    int64_t offset = 0;
    Shape position;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      position.push_back(grid.getPosition(r, axes[dim]));
      offset += position.back() * reduced[r].getShape()[dim] * strides[dim];
    }
    auto [first, isNew] = owner.emplace(position, r);
    if (!isNew && !reduced[r].isSameAs(reduced[first->second]) &&
        !reduced[r].bitwiseEquals(reduced[first->second]))
      return op->emitError() << what << " is replicated, but differs between ranks "
                             << first->second << " and " << r;
    if (isNew)
      copyStrided(reduced[r].getShape(), width,
                  result.mutableData<std::byte>() + offset * static_cast<int64_t>(width), strides,
                  reduced[r].bytes(), rowMajorStrides(reduced[r].getShape()));
  }
  global = result;
  return success();
}

} // namespace mlir::st::ref
