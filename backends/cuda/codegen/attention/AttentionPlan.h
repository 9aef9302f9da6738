// The plan of a fused attention-like kernel: the part of its body that computes rows, and the
// strides of its products' matrices along the loops of that part.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Utils/CoordinateRange.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::cuda {

/// A matrix in memory: its strides along the groups of the space and along the `width` dimension. A
/// stride is 0 along heads that share a matrix.
/// `width` is the contracted dimension of a producer or the columns of a consumer; no loop of the
/// space runs along it.
struct AttentionMatrix {
  unsigned buffer = 0; ///< of the kernel
  Type element;
  SmallVector<int64_t> strides; ///< by group, in elements
  int64_t widthStride = 1;

  bool operator==(const AttentionMatrix &other) const {
    return buffer == other.buffer && element == other.element && strides == other.strides &&
           widthStride == other.widthStride;
  }
};

struct AttentionProduct {
  stablehlo::DotGeneralOp op;
  Value rows; ///< a producer's result or a consumer's left operand, in the row part
  int64_t width = 1;
  // A producer's matrices are its operands along either loop. For a consumer, `streamed` is its
  // right operand and `parallel` its result.
  AttentionMatrix parallel, streamed;
};

/// The parts of a body of kind "attention". The two innermost loops are the parallel loop, split
/// over blocks, and the reduction loop, over which each block iterates.
struct FusedAttention {
  /// A kernel of kind "loop". Its arguments are those of the fused kernel, then the result of each
  /// producer. Its results are those in `stored`, then the left operands of the consumers.
  OwningOpRef<st::KernelOp> rows;
  SmallVector<unsigned> stored; ///< indices of the fused kernel's results
  SmallVector<AttentionProduct, 0> producers, consumers;
  /// Consumers that contract the parallel loop; the others contract the reduction loop. `parallel`
  /// is their right operand. `streamed` is their result, into which each block accumulates.
  SmallVector<AttentionProduct, 0> crossing;
  st::IterationSpace space;
  unsigned parallel = 0, streamed = 0; ///< groups
  SmallVector<st::CoordinateRange> inputRanges;
  bool hasPartialRows = false; ///< see st::kPartialRowsAttr

  Block &body() const { return const_cast<FusedAttention *>(this)->rows->getBody().front(); }
};

/// Maximum number of columns of a consumer's result, and of a producer's depth. It limits the
/// accumulators of a block.
constexpr int64_t kMaxAttentionWidth = 128;

/// Returns true if an operand of a product is a matrix in memory: an argument of the kernel, or a
/// broadcast of one, which heads share.
bool isMatrix(Value operand);

/// Fails with a diagnostic.
FailureOr<FusedAttention> analyzeAttention(st::KernelOp kernel);

} // namespace mlir::cuda
