// The parts of an attention kernel: which part of its body works on rows, and the strides of its
// products' operands and results along the loops of that part.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::cuda {

/// A matrix in memory: along the groups of the space, and along one dimension that is no loop of
/// it, the depth of a product that makes rows or the columns of another one's result.
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
  Value rows; ///< of the part on rows: what the product makes, or reads
  int64_t width = 1;
  // Of one that makes rows: its operands along either loop. Of another: `streamed` is what it
  // multiplies the rows with, `own` its result.
  AttentionMatrix own, streamed;
};

/// The parts of a body of kind "attention". Of the two innermost loops one is the block's own,
/// along which it takes some points; along the other one everything streams by.
struct FusedAttention {
  /// A kernel of kind "loop" with the attention kernel's arguments and, behind these, what each
  /// producer makes. Its results are those `stored`, then what the consumers read.
  OwningOpRef<st::KernelOp> rows;
  SmallVector<unsigned> stored; ///< results of the attention kernel
  SmallVector<AttentionProduct, 0> producers, consumers;
  /// Consumers that contract the parallel loop, where the others contract the reduction loop: `own`
  /// is what they multiply the rows with, `streamed` their result, to which each block adds.
  SmallVector<AttentionProduct, 0> crossing;
  st::IterationSpace space;
  unsigned own = 0, streamed = 0; ///< groups

  Block &body() const { return const_cast<FusedAttention *>(this)->rows->getBody().front(); }
};

/// Products whose result has more columns than these, and rows of more depth, are none of a
/// attention kernel's: a block holds so many sums.
constexpr int64_t kMostAttentionWidth = 128;

/// Whether a product of rows that a kernel makes contracts them, and not their columns.
bool contractsRows(stablehlo::DotGeneralOp dot);

/// Fails with a diagnostic.
FailureOr<FusedAttention> analyzeAttention(st::KernelOp kernel);

} // namespace mlir::cuda
