// The counter-based generators of rng_bit_generator, equal to XLA's to the bit.
#ifndef ST_REFERENCE_RANDOMBITS_H
#define ST_REFERENCE_RANDOMBITS_H

#include "lib/Reference/Tensor.h"

namespace mlir::st::ref {

enum class BitGenerator { ThreeFry, Philox };

/// Fills a tensor of `type` and `shape` with random bits. `state` is [key, counter] in words of 64
/// bits, for Philox also [key, low counter, high counter]; the key replaces a missing high counter.
/// `newState` has the advanced counter. No tensor for a type other than integers and floats, or for
/// a state of another form.
Tensor randomBits(BitGenerator generator, const Tensor &state, ElementType type,
                  ArrayRef<int64_t> shape, Tensor &newState);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_RANDOMBITS_H
