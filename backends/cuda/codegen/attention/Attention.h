// Attention and its gradient as a library computes them, found in kernels of kind "attention".
#pragma once

#include "dialects/St/IR/StDialect.h"

#include <string>

namespace mlir::cuda {

/// o = softmax(scale * q * k^T + bias) * v for each head of each batch, and the softmax statistics
/// of each row. A gradient instead computes dQ, dK and dV from dO, and its `o` is null.
struct Attention {
  /// batch x heads x contiguous rows; strides are in elements. k and v have heads / group heads;
  /// their gradients have all.
  struct Tensor {
    Value value; ///< an input or a result of the kernel; null if absent
    int64_t batch = 0, head = 0, row = 0;
  };
  int64_t batch = 1, heads = 1;
  int64_t group = 1;             ///< consecutive heads that share a head of k and v
  int64_t rows = 1, columns = 1; ///< of q and o, of k and v
  int64_t depth = 1, width = 1;  ///< of q and k, of v and o
  double scale = 1;
  /// Row r attends to columns 0 to r only.
  bool isCausal = false;
  Tensor q, k, v, o;
  Tensor bias;           ///< f32; a stride is 0 where it does not vary
  Value max, sum;        ///< of each row: the maximum score, and the sum of exp(score - max); f32,
                         ///< contiguous; inputs of a gradient
  Tensor dO, dQ, dK, dV; ///< gradients; all null or all set
};

/// On failure sets the reason why a kernel is not attention. A kernel that does not compile fails
/// with a diagnostic and no reason.
FailureOr<Attention> matchAttention(st::KernelOp kernel, std::string &reason);

/// The same for the two kernels of a gradient: the first computes dQ and a statistic of each row,
/// the second reads the statistic and computes dK and dV.
FailureOr<Attention> matchAttentionGradient(st::KernelOp ofRows, st::KernelOp ofColumns,
                                            std::string &reason);

/// The same for the one kernel into which both kernels of a marked gradient were joined.
FailureOr<Attention> matchJoinedGradient(st::KernelOp kernel, std::string &reason);

} // namespace mlir::cuda
