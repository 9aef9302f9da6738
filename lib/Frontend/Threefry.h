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

/// One random 32-bit word for each element of `shape`, a ui32 tensor:
/// x0 ^ x1 with (x0, x1) = threefry2x32(key, (site + 2^16 n, i)), n the slice that the
/// element is in and i its row-major index there; both sites and slices are fewer than
/// 2^16. `key` is a tensor<2xui32>. Threefry-2x32 with 20 rounds as in
/// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), and
/// in JAX's threefry_2x32.
///
/// Every op is elementwise over the element's index, so bits depend on where an
/// element is in the whole tensor and never on how the tensor is laid out.
Value emitRandomWords(Emitter &emit, Value key, uint32_t site, ArrayRef<int64_t> shape);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_THREEFRY_H
