//===- Threefry.h - Counter-based random bits -------------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_THREEFRY_H
#define ST_LIB_FRONTEND_THREEFRY_H

#include "dialects/StableHLO/Utils/Emitter.h"

namespace mlir::st {

/// One random 32-bit word for each element of `shape`, a ui32 tensor:
/// x0 ^ x1 with (x0, x1) = threefry2x32(key, (site, i)), i the row-major index of
/// the element. `key` is a tensor<2xui32>. Threefry-2x32 with 20 rounds as in
/// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011), and
/// in JAX's threefry_2x32.
///
/// Every op is elementwise over the element's index, so bits depend on where an
/// element is in the whole tensor and never on how the tensor is laid out.
Value emitRandomWords(Emitter &emit, Value key, uint32_t site, ArrayRef<int64_t> shape);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_THREEFRY_H
