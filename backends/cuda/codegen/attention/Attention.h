// Attention and its gradient as a library computes them, found in kernels of kind "attention".
#pragma once

#include "dialects/St/IR/StDialect.h"

#include <string>

namespace mlir::cuda {

/// o = softmax(scale * q * k^T + bias) * v, for each head of each batch; with what the softmax
/// knows of each row. Or the gradient: of q, k and v by that of o, and nothing of o itself.
struct Attention {
  /// batch x heads x rows of neighbours in memory; elements from one to the next along each.
  struct Tensor {
    Value value; ///< an input or a result of the kernel; null: there is none
    int64_t batch = 0, head = 0, row = 0;
  };
  int64_t batch = 1, heads = 1;
  int64_t rows = 1, columns = 1; ///< of q and o, of k and v
  int64_t depth = 1, width = 1;  ///< of q and k, of v and o
  double scale = 1;
  /// Row r sees columns 0 to r alone.
  bool isCausal = false;
  Tensor q, k, v, o;
  Tensor bias;           ///< of f32; strides of 0 where it does not vary
  Value max, sum;        ///< of each row's scores, and of exp(score - max): f32, dense; a gradient
                         ///< reads them
  Tensor dO, dQ, dK, dV; ///< gradients; null or each of them
};

/// Fails with the reason for which an attention kernel is none. A kernel that could not be compiled
/// is an error with a diagnostic, and no reason.
FailureOr<Attention> matchAttention(st::KernelOp kernel, std::string &reason);

/// The same for the two attention kernels of a gradient, one behind the other: that which makes the
/// gradient of q and something of each row, and that which reads this and makes the gradients of k
/// and v.
FailureOr<Attention> matchAttentionGradient(st::KernelOp ofRows, st::KernelOp ofColumns,
                                            std::string &reason);

/// The same for one attention kernel that both of a marked gradient have become (JoinedGradient.h).
FailureOr<Attention> matchJoinedGradient(st::KernelOp kernel, std::string &reason);

} // namespace mlir::cuda
