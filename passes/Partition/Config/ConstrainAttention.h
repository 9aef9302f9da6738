// The shardings of attention if devices share a sequence.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// The tensors that devices send for a product of positions with positions (queries with keys).
/// Heads: queries, keys, values and results, so that each device has some heads of all positions.
/// Keys: keys and values, so that each device has its queries and all keys.
enum class AttentionExchange { Cheapest, Heads, Keys };

/// The products of the forward pass that were constrained, by what devices send.
struct ConstrainedAttention {
  int64_t heads = 0, keys = 0;
  /// The sizes of heads over which the axis does not fit, of products that should have had them.
  SmallVector<int64_t> tooFewHeads;
};

/// Constrains the operands of a product in the forward pass if `axis` splits positions of both, but
/// in different dimensions. Also constrains the result of such a product over heads. The
/// positions are those of batch arguments that are split over `axis`. `shards` is the number of
/// parts into which the heads may already be split.
ConstrainedAttention constrainAttention(func::FuncOp function, const MeshAxes &axes, Axis axis,
                                        int64_t shards, AttentionExchange exchange);

} // namespace mlir::st
