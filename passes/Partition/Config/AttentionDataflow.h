// The values around a product of attention.
#pragma once

#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::st {

/// A tensor with a sharding that it should have.
struct ShardedValue {
  Value value;
  TensorSharding sharding;
};

int64_t bytesOf(Value value);

/// Follows a product's result to the smallest tensor with the same elements or their sums, such as
/// the gradient of keys that were repeated. `axis` splits both. Until there, the value may instead
/// be split over the axis as in `before`, for example along its heads: it is not followed to a
/// tensor with too few of them.
ShardedValue findSink(Value value, TensorSharding sharding, Axis axis,
                      std::optional<TensorSharding> before = std::nullopt);

/// Returns true if the factor `first` of scores are the positions of keys, and `second` those of
/// queries: softmax reduces along keys.
bool areKeys(stablehlo::DotGeneralOp dot, const ShardingRule &rule, int64_t first, int64_t second);

/// Returns true if a mask of the scores compares positions by their order, such as a causal mask or
/// a sliding window. The queries of a sequence then have different numbers of keys.
bool hasOrderedMask(stablehlo::DotGeneralOp scores);

} // namespace mlir::st
