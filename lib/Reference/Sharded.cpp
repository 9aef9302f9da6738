#include "lib/Reference/Sharded.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "lib/Reference/Evaluation/ScalarComputation.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "lib/Reference/TensorTypes.h"

#include <cstring>
#include <limits>
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

/// A tensor whose elements reveal that they are read: NaN or large integers.
static Tensor poisoned(ElementType type, ArrayRef<int64_t> shape) {
  Tensor tensor(type, shape);
  dispatchAll(type, [&](auto like) {
    using T = decltype(like);
    T value;
    if constexpr (std::is_same_v<T, bool>)
      value = true;
    else if constexpr (std::is_integral_v<T>)
      value = std::numeric_limits<T>::max() / 3;
    else
      std::memset(&value, 0xFF, sizeof(T)); // NaN
    std::fill_n(tensor.mutableData<T>(), tensor.getNumElements(), value);
  });
  return tensor;
}

/// The elements of `unsharded` from `starts` on, extended to `shape` with zeros (for state) or
/// poison.
static Tensor sliceWithPadding(const Tensor &unsharded, const Shape &starts, const Shape &shape,
                               bool isState) {
  Shape sizes;
  int64_t offset = 0;
  Shape strides = rowMajorStrides(unsharded.getShape());
  for (auto [start, size, limit, stride] :
       llvm::zip_equal(starts, shape, unsharded.getShape(), strides)) {
    sizes.push_back(std::clamp<int64_t>(limit - start, 0, size));
    offset += start * stride;
  }
  if (sizes == shape)
    return slice(unsharded, starts, Shape(starts.size(), 1), shape);
  Tensor piece =
      isState ? Tensor(unsharded.getType(), shape) : poisoned(unsharded.getType(), shape);
  if (isState)
    std::memset(piece.mutableData<std::byte>(), 0, piece.getByteSize());
  if (numElements(sizes) != 0) {
    size_t width = ::st::byteWidth(unsharded.getType());
    copyStrided(sizes, width, piece.mutableData<std::byte>(), rowMajorStrides(shape),
                unsharded.bytes() + offset * static_cast<int64_t>(width), strides);
  }
  return piece;
}

/// Applies splitAtUnshardedParts to a tensor of this shape, over the axes that the grid has.
static std::optional<FineSharding> refine(ShardingAttr sharding, ArrayRef<int64_t> shape,
                                          const RankGrid &grid) {
  return splitAtUnshardedParts(sharding, shape, [&](StringRef axis) -> int64_t {
    return grid.hasAxis(axis) ? grid.getSize({axis}) : 1;
  });
}

/// Shards a tensor whose sharding has unsplit parts, as a tensor of more dimensions. Each rank gets
/// `local`, padding included.
static LogicalResult shardFine(const Tensor &global, ShardingAttr sharding, const RankGrid &grid,
                               Operation *op, RankValues &pieces, const Shape &local,
                               bool isState) {
  Shape full(local);
  for (auto [size, axes] : llvm::zip_equal(full, getAxes(sharding, global.getRank(), grid)))
    size *= grid.getSize(axes);
  std::optional<FineSharding> fine = refine(sharding, full, grid);
  if (!fine)
    return op->emitError("sharding ")
           << sharding << " does not divide a tensor of " << toString(global);
  Tensor unsharded = full == Shape(global.getShape())
                         ? global
                         : sliceWithPadding(global, Shape(full.size(), 0), full, isState);
  if (failed(shard(unsharded.reshaped(fine->shape), fine->sharding, grid, op, pieces)))
    return failure();
  for (Tensor &piece : pieces)
    piece = piece.reshaped(local);
  return success();
}

LogicalResult shard(const Tensor &global, ShardingAttr sharding, const RankGrid &grid,
                    Operation *op, RankValues &pieces, Type room, bool isState) {
  int64_t rank = global.getRank();
  if (sharding && sharding.getRank() != rank)
    return op->emitError("a sharding of rank ")
           << sharding.getRank() << " for a tensor of rank " << rank;
  auto axes = getAxes(sharding, rank, grid);
  Shape shape(global.getShape());
  if (auto type = dyn_cast_or_null<RankedTensorType>(room); type && type.getRank() == rank)
    llvm::copy(type.getShape(), shape.begin());
  else
    room = {};
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t parts = grid.getSize(axes[dim]);
    if (room && shape[dim] * parts < global.getShape()[dim])
      return op->emitError("dimension ")
             << dim << " of size " << global.getShape()[dim] << " is larger than " << parts
             << " parts of " << shape[dim];
    if (room)
      continue;
    if (shape[dim] % parts != 0)
      return op->emitError("dimension ")
             << dim << " of size " << shape[dim] << " does not divide into " << parts << " parts";
    shape[dim] /= parts;
  }
  if (sharding && hasUnsplitParts(sharding))
    return shardFine(global, sharding, grid, op, pieces, shape, isState);
  std::map<Shape, Tensor> byStart;
  pieces.clear();
  for (int64_t r = 0; r < grid.getNumRanks(); ++r) {
    Shape starts;
    for (int64_t dim = 0; dim < rank; ++dim)
      starts.push_back(grid.getPosition(r, axes[dim]) * shape[dim]);
    Tensor &piece = byStart[starts];
    if (!piece)
      piece = sliceWithPadding(global, starts, shape, isState);
    pieces.push_back(piece);
  }
  return success();
}

/// Returns true if two tensors of one shape agree in the first elements of each dimension.
static bool agreeWithin(const Tensor &lhs, const Tensor &rhs, const Shape &sizes) {
  if (lhs.isSameAs(rhs) || lhs.bitwiseEquals(rhs))
    return true;
  Shape zeros(sizes.size(), 0), ones(sizes.size(), 1);
  return sizes != Shape(lhs.getShape()) &&
         slice(lhs, zeros, ones, sizes).bitwiseEquals(slice(rhs, zeros, ones, sizes));
}

/// The reverse of shardFine.
static LogicalResult unshardFine(const RankValues &pieces, ShardingAttr sharding,
                                 const RankGrid &grid, Operation *op, const Twine &what,
                                 Tensor &global, Type globalType) {
  Shape full(pieces[0].getShape());
  for (auto [size, axes] : llvm::zip_equal(full, getAxes(sharding, pieces[0].getRank(), grid)))
    size *= grid.getSize(axes);
  std::optional<FineSharding> fine = refine(sharding, full, grid);
  if (!fine)
    return op->emitError() << what << " has parts of " << toString(pieces[0]) << ", but sharding "
                           << sharding << " divides no tensor into such parts";
  Shape local(fine->shape.begin(), fine->shape.end());
  for (auto [size, axes] :
       llvm::zip_equal(local, getAxes(fine->sharding, static_cast<int64_t>(local.size()), grid)))
    size /= grid.getSize(axes);
  RankValues finePieces;
  for (const Tensor &piece : pieces)
    finePieces.push_back(piece.reshaped(local));
  if (failed(unshard(finePieces, fine->sharding, grid, op, what, global)))
    return failure();
  global = global.reshaped(full);
  if (auto type = dyn_cast_or_null<RankedTensorType>(globalType);
      type && type.getShape() != ArrayRef<int64_t>(full))
    global = slice(global, Shape(full.size(), 0), Shape(full.size(), 1), Shape(type.getShape()));
  return success();
}

LogicalResult unshard(const RankValues &pieces, ShardingAttr sharding, const RankGrid &grid,
                      Operation *op, const Twine &what, Tensor &global, Type globalType) {
  if (sharding && hasUnsplitParts(sharding))
    return unshardFine(pieces, sharding, grid, op, what, global, globalType);
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
  if (auto type = dyn_cast_or_null<RankedTensorType>(globalType))
    for (auto [size, wanted] : llvm::zip_equal(shape, type.getShape()))
      size = std::min(size, wanted);
  Tensor result(pieces[0].getType(), shape);
  std::map<Shape, int64_t> owner;
  Shape strides = rowMajorStrides(shape);
  size_t width = ::st::byteWidth(result.getType());
  for (int64_t r = 0; r < grid.getNumRanks(); ++r) {
    int64_t offset = 0;
    Shape position, sizes;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t size = reduced[r].getShape()[dim];
      position.push_back(grid.getPosition(r, axes[dim]));
      offset += position.back() * size * strides[dim];
      sizes.push_back(std::clamp<int64_t>(shape[dim] - position.back() * size, 0, size));
    }
    auto [first, isNew] = owner.emplace(position, r);
    if (!isNew && !agreeWithin(reduced[r], reduced[first->second], sizes))
      return op->emitError() << what << " is replicated, but differs between ranks "
                             << first->second << " and " << r;
    if (isNew && numElements(sizes) != 0)
      copyStrided(sizes, width,
                  result.mutableData<std::byte>() + offset * static_cast<int64_t>(width), strides,
                  reduced[r].bytes(), rowMajorStrides(reduced[r].getShape()));
  }
  global = result;
  return success();
}

/// Returns true if elements are equal, or have the same bits (NaN).
static bool haveSameNumbers(const Tensor &lhs, const Tensor &rhs) {
  return lhs.bitwiseEquals(rhs) || dispatchAll(lhs.getType(), [&](auto tag) {
           using T = decltype(tag);
           for (int64_t i = 0; i < lhs.getNumElements(); ++i) {
             const T &a = lhs.data<T>()[i], &b = rhs.data<T>()[i];
             if (static_cast<Compute<T>>(a) != static_cast<Compute<T>>(b) &&
                 std::memcmp(&a, &b, sizeof(T)) != 0)
               return false;
           }
           return true;
         });
}

LogicalResult checkStatePadding(const RankValues &pieces, ShardingAttr sharding,
                                const RankGrid &grid, Operation *op, const Twine &what,
                                const Tensor &global) {
  bool hasPadding = false;
  for (auto [own, axes, size] : llvm::zip_equal(
           pieces[0].getShape(), getAxes(sharding, global.getRank(), grid), global.getShape()))
    hasPadding |= own * grid.getSize(axes) != size;
  if (!hasPadding)
    return success();
  auto room = RankedTensorType::get(pieces[0].getShape(), IntegerType::get(op->getContext(), 1));
  RankValues expected;
  if (failed(shard(global, sharding, grid, op, expected, room, /*isState=*/true)))
    return failure();
  for (auto [rank, piece, clean] : llvm::enumerate(pieces, expected))
    if (!haveSameNumbers(piece, clean))
      return op->emitError() << what << " has padding that is not zero on rank " << rank;
  return success();
}

} // namespace mlir::st::ref
