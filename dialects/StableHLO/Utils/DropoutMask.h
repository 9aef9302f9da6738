//===- DropoutMask.h - Counter-based masks of dropout -----------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_UTILS_DROPOUTMASK_H
#define ST_DIALECTS_STABLEHLO_UTILS_DROPOUTMASK_H

#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// The maximum number of elements of a slice, which one word of the counter numbers. The other word
/// numbers slices and sites.
constexpr int64_t kMaxSliceElements = int64_t(1) << 32;
constexpr uint32_t kMaxRandomSlices = 1 << 16, kMaxRandomSites = 1 << 16;

/// A model numbers its dropouts from 0; passes number the dropouts that they add from here.
constexpr uint32_t kFirstAddedSite = kMaxRandomSites / 2;

/// The smallest number of leading dimensions that split a mask into slices of at most
/// kMaxSliceElements. 0 if the mask has no more elements.
size_t randomSliceDims(ArrayRef<int64_t> shape);

/// Returns true if there are enough slices for the elements of a mask.
bool hasDropoutMask(ArrayRef<int64_t> shape);

/// The drop probability in units of 2^-16: the nearest, at most 65535.
uint32_t roundDropoutRate(double probability);

/// The mask of kept elements of `shape`, an i1 tensor: each element is dropped with a probability
/// of `rate` 2^-16. `key` is a tensor<2xui32> of [seed, step].
///
/// Every element has a random number of 16 bits and is kept if that is not less than `rate`. The
/// elements at rows r and r + 8 and columns c and c + 8, for r and c without the bit of 8, share a
/// block of 64 bits. Column c takes the first word, and row r its upper half. The block is
/// philox2x32 of the counter (site + 2^16 n, i) under the key seed + 0xBB67AE85 step. n is the
/// slice of the elements and i the row-major index of the element at (r, c) in it; there are fewer
/// than 2^16 sites and slices. A vector is one row.
///
/// Philox-2x32 has 8 rounds here. 7 are the fewest that pass every test of BigCrush (Salmon et al.,
/// "Parallel random numbers: as easy as 1, 2, 3", SC 2011), and the first of the 8 multiplies only
/// the site. Masks of dropout need no secrecy, and FlashAttention uses 7 rounds of Philox and 8
/// bits an element. With the index in the other word, sites would share the products of the first
/// round, but nothing would reuse them. The factor of the step is not Philox's own increment of the
/// key, so no two steps share round keys. It is odd, so all steps of a seed have different keys.
///
/// Every op is elementwise over the element's index. So masks depend on an element's position in
/// the global tensor, never on the layout. A thread that computes several elements of a block
/// computes the block once. Threads with tiles of tensor cores do so: they hold rows and columns 8
/// apart, for a tile and for its transpose.
Value emitDropoutMask(Emitter &emit, Value key, uint32_t site, ArrayRef<int64_t> shape,
                      uint32_t rate);

/// x with zeros where the mask drops an element, and divided by the kept share elsewhere, which
/// preserves the mean. The share is that of the rounded rate.
Value emitDropout(Emitter &emit, Value x, Value key, uint32_t site, uint32_t rate);

} // namespace mlir::st

#endif // ST_DIALECTS_STABLEHLO_UTILS_DROPOUTMASK_H
