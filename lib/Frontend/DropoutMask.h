//===- DropoutMask.h - Counter-based masks of dropout -----------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_DROPOUTMASK_H
#define ST_LIB_FRONTEND_DROPOUTMASK_H

#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// Elements of a slice that one word of the counter numbers, and how many slices and
/// sites the other word tells apart.
constexpr int64_t kMaxSliceElements = int64_t(1) << 32;
constexpr uint32_t kMaxRandomSlices = 1 << 16, kMaxRandomSites = 1 << 16;

/// How many of the leading dimensions number the slices of a mask: the fewest behind which at
/// most kMaxSliceElements are left. 0 where they are no more in all.
size_t randomSliceDims(ArrayRef<int64_t> shape);

/// The probability in units of 2^-16 with which elements are dropped: the nearest, at most 65535.
uint32_t roundDropoutRate(double probability);

/// Which elements of `shape` are kept, an i1 tensor: each is dropped with a probability of
/// `rate` 2^-16. `key` is a tensor<2xui32> of [seed, step].
///
/// Every element has a random number of 16 bits and is kept if that is not less than `rate`. The
/// elements at rows r and r + 8 and columns c and c + 8, for r and c without the bit of 8, share a
/// block of 64 bits: the first word is that of column c, its upper half that of row r. The block
/// is philox2x32 of the counter (site + 2^16 n, i) under the key seed + 0xBB67AE85 step, n the
/// slice that the elements are in and i the row-major index of the element at (r, c) there; both
/// sites and slices are fewer than 2^16. A vector is one row.
///
/// Philox-2x32 with 8 rounds. 7 are the fewest that pass every test of BigCrush (Salmon et al.,
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011), and the first one of 8 multiplies only
/// the site: masks of dropout are no secret, and FlashAttention draws its own with 7 rounds of
/// Philox and 8 bits an element. With the index in the other word, sites would share the products
/// of the first round, which are worth nothing to anybody who would keep them. The factor of the
/// step is not Philox's own increment of the key, so that no two steps share round keys, and is
/// odd, so that all steps of a seed have different keys.
///
/// Every op is elementwise over the element's index, so masks depend on where an element is in the
/// whole tensor and never on how the tensor is laid out. What computes several elements of a block
/// makes it once. A thread that works on tiles of a tensor core does: it has rows and columns 8
/// apart, whether it holds the tile or its transpose.
Value emitDropoutMask(Emitter &emit, Value key, uint32_t site, ArrayRef<int64_t> shape,
                      uint32_t rate);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_DROPOUTMASK_H
