#include "dialects/St/Sharding/Splits.h"

using namespace mlir;
using namespace mlir::st;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t mlir::st::productOfSizes(ArrayRef<Split> splits) {
  int64_t size = 1;
  for (const Split &split : splits)
    size *= split.size;
  return size;
}

Splits mlir::st::splitAt(Axis axis, int64_t size, int64_t outer) {
  Splits splits;
  if (outer != 1)
    splits.push_back({kUnsplit, outer});
  splits.push_back({axis, size});
  return splits;
}

void mlir::st::canonicalize(Splits &splits) {
  Splits result;
  for (const Split &split : splits) {
    if (split.axis != kUnsplit)
      result.push_back(split);
    else if (!result.empty() && result.back().axis == kUnsplit)
      result.back().size *= split.size;
    else if (split.size != 1)
      result.push_back(split);
  }
  if (!result.empty() && result.back().axis == kUnsplit)
    result.pop_back();
  splits = std::move(result);
}

int64_t mlir::st::shardCount(ArrayRef<Split> splits) {
  int64_t count = 1;
  for (const Split &split : splits)
    if (split.axis != kUnsplit)
      count *= split.size;
  return count;
}

std::optional<int64_t> mlir::st::outerOf(ArrayRef<Split> splits, Axis axis) {
  int64_t outer = 1;
  for (const Split &split : splits) {
    if (split.axis == axis)
      return outer;
    outer *= split.size;
  }
  return std::nullopt;
}

void mlir::st::eraseAxis(Splits &splits, Axis axis) {
  for (Split &split : splits)
    if (split.axis == axis)
      split.axis = kUnsplit;
  canonicalize(splits);
}

namespace {
/// Reads splits piece by piece. An unsplit part of unlimited size follows the last one.
class SplitCursor {
public:
  explicit SplitCursor(ArrayRef<Split> splits) : rest(splits) {}
  bool atEnd() const { return rest.empty(); }
  Axis axis() const { return rest.front().axis; }
  /// The remainder of the current piece.
  int64_t left() const { return rest.front().size / consumed; }
  bool isAxis() const { return !atEnd() && axis() != kUnsplit; }
  /// Consumes `size` of an unsplit part; false if it does not divide.
  bool skip(int64_t size) {
    if (atEnd())
      return true;
    if (isAxis() || left() % size != 0)
      return false;
    take(size);
    return true;
  }
  void take(int64_t size) {
    consumed *= size;
    if (consumed != rest.front().size)
      return;
    rest = rest.drop_front();
    consumed = 1;
  }

private:
  ArrayRef<Split> rest;
  int64_t consumed = 1;
};
} // namespace

std::optional<Splits> mlir::st::unite(ArrayRef<Split> lhs, ArrayRef<Split> rhs) {
  Splits result;
  SplitCursor left(lhs), right(rhs);
  while (!left.atEnd() || !right.atEnd()) {
    if (left.isAxis() && right.isAxis()) {
      if (left.axis() != right.axis())
        return std::nullopt;
      result.push_back({left.axis(), left.left()});
      int64_t size = left.left();
      left.take(size);
      right.take(size);
      continue;
    }
    // One side is unsplit here: uses the other one's piece, or the smaller unsplit part.
    SplitCursor *piece = &left, *gap = &right;
    if (right.isAxis() || left.atEnd() ||
        (!left.isAxis() && !right.atEnd() && right.left() < left.left()))
      std::swap(piece, gap);
    int64_t size = piece->left();
    result.push_back({piece->axis(), size});
    if (!gap->skip(size))
      return std::nullopt;
    piece->take(size);
  }
  canonicalize(result);
  return result;
}

int64_t mlir::st::localOuter(ArrayRef<Split> splits, int64_t outer) {
  int64_t local = 1, position = 1;
  for (const Split &split : splits) {
    if (position >= outer)
      return local;
    if (split.axis == kUnsplit)
      local *= std::min(split.size, outer / position);
    position *= split.size;
  }
  return position < outer ? local * (outer / position) : local;
}

std::optional<SmallVector<Splits, 2>> mlir::st::splitAtParts(ArrayRef<Split> splits,
                                                             ArrayRef<int64_t> sizes) {
  SmallVector<Splits, 2> parts(sizes.size());
  size_t part = 0;
  int64_t left = sizes.empty() ? 1 : sizes[0];
  for (Split split : splits) {
    while (split.size > 1) {
      while (left == 1 && part + 1 < sizes.size())
        left = sizes[++part];
      int64_t size = split.size;
      if (split.axis == kUnsplit && size > left)
        size = left;
      if (size == 0 || left % size != 0 || split.size % size != 0 || left == 1)
        return std::nullopt;
      parts[part].push_back({split.axis, size});
      left /= size;
      split.size /= size;
    }
  }
  for (Splits &part : parts)
    canonicalize(part);
  return parts;
}

void mlir::st::appendPart(Splits &splits, int64_t sizeBefore, ArrayRef<Split> part) {
  if (part.empty())
    return;
  splits.push_back({kUnsplit, sizeBefore / productOfSizes(splits)});
  splits.append(part.begin(), part.end());
  canonicalize(splits);
}
