//===- Threefry.h - Counter-based random bits -------------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_THREEFRY_H
#define ST_LIB_FRONTEND_THREEFRY_H

#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// Elements of a slice that one word of the counter numbers, and how many slices and
/// sites the other word tells apart.
constexpr int64_t kMaxSliceElements = int64_t(1) << 32;
constexpr uint32_t kMaxRandomSlices = 1 << 16, kMaxRandomSites = 1 << 16;

/// How many of the leading dimensions number the slices of a tensor of random words: the fewest
/// behind which at most kMaxSliceElements are left. 0 where they are no more in all.
size_t randomSliceDims(ArrayRef<int64_t> shape);

/// One random 32-bit word for each element of `shape`, a ui32 tensor. Columns c and c + 8 of a
/// row share a block, for c with c & 8 = 0: the first word is that of column c. The block is
/// threefry2x32(key, (site + 2^16 n, i)), n the slice that the elements are in and i the
/// row-major index of column c there; both sites and slices are fewer than 2^16. `key` is a
/// tensor<2xui32>.
///
/// Threefry-2x32 with 13 rounds, the fewest that pass every test of BigCrush (Salmon et al.,
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011): masks of dropout are no
/// secret, and FlashAttention draws its own with the fewest of Philox.
///
/// Every op is elementwise over the element's index, so bits depend on where an
/// element is in the whole tensor and never on how the tensor is laid out. What computes both
/// elements of a block makes it once. A thread that works on tiles of a tensor core does: it has
/// rows and columns 8 apart.
Value emitRandomWords(Emitter &emit, Value key, uint32_t site, ArrayRef<int64_t> shape);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_THREEFRY_H
