// Normal random numbers from counters, for the initialisation of parameters.
#ifndef ST_RUNTIME_NORMALINIT_H
#define ST_RUNTIME_NORMALINIT_H

#include "lib/Support/Threefry.h"

#include <cstdint>

namespace st {

/// Writes elements first .. first+count-1 of the stream of `key`, times `stddev`.
///
/// Element i depends only on the key and i: with (x0, x1) = threefry2x32(key, (high word of i, low
/// word of i)),
///
///   u = (floor(x0 / 2^9) + 1/2) / 2^23,  t = floor(x1 / 2^8) / 2^24,
///   z = sqrt(-2 ln u) cos(2 pi t)                          (Box and Muller)
///
/// in single precision. The tails are not truncated; |z| stays below 5.8. Polynomials replace the
/// functions of the C library, and products are not fused with sums, so every host and every vector
/// width gives the same bits.
void fillNormal(ThreefryPair key, uint64_t first, float stddev, float *out, int64_t count);

} // namespace st

#endif // ST_RUNTIME_NORMALINIT_H
