//===- RelativePositions.h - Buckets of distances ---------------*- C++ -*-===//

#ifndef ST_LIB_FRONTEND_SEQ2SEQ_RELATIVEPOSITIONS_H
#define ST_LIB_FRONTEND_SEQ2SEQ_RELATIVEPOSITIONS_H

#include "dialects/StableHLO/Utils/Emitter.h"
#include "lib/Frontend/ModelConfig.h"

namespace mlir::st {

/// The bucket of the distance from a query to a key, `key - query`, as in Raffel et al., 2019, and
/// transformers' T5: half of the buckets hold one distance each, the others hold intervals of
/// increasing length up to `maxDistance`, and the last bucket holds all longer distances. If
/// positions are bidirectional, later keys use one half of the buckets and earlier keys the other
/// half. Otherwise later keys have bucket 0.
int64_t bucketOf(const RelativePositions &positions, int64_t distance, bool isBidirectional);

/// One-hot buckets of all pairs of a query and a key: [S, S, buckets], f32.
Value emitBuckets(Emitter &emit, const RelativePositions &positions, int64_t sequence,
                  bool isBidirectional);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_SEQ2SEQ_RELATIVEPOSITIONS_H
