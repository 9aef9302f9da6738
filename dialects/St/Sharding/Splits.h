// The split of one dimension over mesh axes, and its arithmetic.
//
// A dimension of size 24 with splits [axis a of 2, 3 unsplit, axis b of 2] is read as the index (a,
// i, b, j) with i < 3 and j < 2, major first; a device holds the elements with its own a and b, in
// the order of (i, j). An axis therefore has a position in the dimension, `outer`: the product of
// the sizes before it (b: 6).
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>

namespace mlir::st {

/// An axis of the mesh by number: 0 is `micro`, the spatial axes follow in the
/// order of the mesh.
using Axis = int8_t;
constexpr Axis kMicroAxis = 0;
constexpr Axis kUnsplit = -1;

/// A part of a dimension: split over an axis, or unsplit.
struct Split {
  Axis axis;
  int64_t size;
  bool operator==(const Split &other) const { return axis == other.axis && size == other.size; }
};

/// Major to minor. In canonical form unsplit parts are not adjacent, not of size 1, and not last:
/// the rest of the dimension is unsplit.
using Splits = llvm::SmallVector<Split, 2>;

/// The splits with only `axis`, of `size`, at `outer`.
Splits splitAt(Axis axis, int64_t size, int64_t outer);

void canonicalize(Splits &splits);

/// The number of parts of a dimension under the splits.
int64_t shardCount(llvm::ArrayRef<Split> splits);

/// The product of all sizes, those of axes and those of unsplit parts.
int64_t productOfSizes(llvm::ArrayRef<Split> splits);

/// The position of an axis, if it is present.
std::optional<int64_t> outerOf(llvm::ArrayRef<Split> splits, Axis axis);

/// Removes `axis`: its part becomes unsplit.
void eraseAxis(Splits &splits, Axis axis);

/// The splits with the axes of both, or std::nullopt if they overlap.
std::optional<Splits> unite(llvm::ArrayRef<Split> lhs, llvm::ArrayRef<Split> rhs);

/// The position `outer` within a device's part of the dimension: the product of the unsplit sizes
/// before it.
int64_t localOuter(llvm::ArrayRef<Split> splits, int64_t outer);

/// Divides the splits of a dimension that consists of parts of the given sizes, major to minor,
/// into the splits of the parts. Returns std::nullopt if an axis crosses parts.
std::optional<llvm::SmallVector<Splits, 2>> splitAtParts(llvm::ArrayRef<Split> splits,
                                                         llvm::ArrayRef<int64_t> sizes);

/// The inverse: appends the splits of a part of a dimension. `sizeBefore` is the size of the parts
/// before it.
void appendPart(Splits &splits, int64_t sizeBefore, llvm::ArrayRef<Split> part);

} // namespace mlir::st
