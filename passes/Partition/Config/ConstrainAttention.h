// The shardings of attention if devices share a sequence.
#pragma once

#include "dialects/St/Sharding/TensorSharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// The tensors that devices send for a product of positions with positions (queries with keys).
/// Heads: queries, keys, values and results, so that each device has some heads of all positions.
/// Keys: keys and values, so that each device has its queries and all keys.
/// Ring: the same, part by part (`ring-attention`).
enum class AttentionExchange { Cheapest, Heads, Keys, Ring };

/// The products of queries with keys in the forward pass, by the tensors that devices send for
/// them.
struct SharedAttention {
  int64_t heads = 0, keys = 0;
  /// Under a mask that compares positions by their order.
  int64_t ordered = 0;
  /// Ops of the forward pass whose windows along the positions overlap.
  int64_t windows = 0;
  /// The numbers of heads that the axis does not divide, for products that were to split heads over
  /// it.
  SmallVector<int64_t> tooFewHeads;
};

/// The distribution of a function's sequences over devices: along `axis`, in addition to `shards`
/// parts into which the heads may already be split.
struct SequenceSharing {
  Axis axis;
  int64_t shards;
  AttentionExchange exchange;
};

/// Returns the choice that constrainAttention would make, for any order of the tokens.
SharedAttention findSharedAttention(func::FuncOp function, const MeshAxes &axes,
                                    const SequenceSharing &sharing);

/// Constrains the operands of a product in the forward pass if the axis splits positions of both,
/// but in different dimensions. Also constrains the result of such a product over heads. The
/// positions are those of batch arguments that are split over the axis.
SharedAttention constrainAttention(func::FuncOp function, const MeshAxes &axes,
                                   const SequenceSharing &sharing);

} // namespace mlir::st
