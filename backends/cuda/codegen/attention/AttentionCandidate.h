// A fused kernel interpreted as a part of attention.
#pragma once

#include "backends/cuda/codegen/attention/Attention.h"
#include "backends/cuda/codegen/attention/FormulaEquivalence.h"

#include <random>

namespace mlir::cuda {

class AttentionCandidate {
public:
  AttentionCandidate(st::KernelOp kernel, std::string &reason) : kernel(kernel), reason(reason) {}

  /// Analyses the kernel, and sets the sizes and groups.
  LogicalResult read(Attention &attention);

  /// Sets `tensor` from a matrix of the kernel whose rows are along a group of the space.
  /// `isShared`: each group of heads has one matrix.
  LogicalResult set(StringRef name, const AttentionMatrix &matrix, unsigned along,
                    const Attention &attention, Attention::Tensor &tensor, bool isShared = false);
  LogicalResult setBias(Attention &attention);

  /// Arguments that the row computation reads besides the scores.
  SmallVector<BlockArgument> readArguments() const;
  Value outside(BlockArgument argument) { return kernel.getInputs()[argument.getArgNumber()]; }
  /// Sets the stride between consecutive heads. Returns false if it is not the same for all.
  bool setHeadStride(ArrayRef<int64_t> strides, int64_t &head) const;

  /// Draws random numbers between -most and most that vary along some groups.
  Sample draw(st::GroupSet groups, double most, std::mt19937 &random) const;
  LogicalResult sample(Samples &samples) {
    return sampleRows(fused.body(), fused.space, groups, samples, reason);
  }
  LogicalResult refuse(const Twine &why) {
    reason = why.str();
    return failure();
  }

  st::KernelOp kernel;
  FusedAttention fused;
  RowsAndColumns groups;
  /// Groups of the space; the number of groups if absent. `head` has the groups of heads that share
  /// keys, `inGroup` the heads of each.
  unsigned batch = 0, head = 0, inGroup = 0;
  BlockArgument bias; ///< may be null

private:
  std::string &reason;

  int64_t getSize(unsigned group) const {
    return group < fused.space.getNumGroups() ? fused.space.getSize(group) : 1;
  }
  bool isSharedAlong(unsigned group) const;
};

/// The row values according to the formula of attention, for some scores.
struct ExpectedRows {
  ExpectedRows(const Attention &attention, const Sample &scores, const Sample &bias);

  Sample probabilities, max, sum;
};

/// Returns the scale that turns scores into these probabilities without a bias, or 0 if none does.
double findScale(const Sample &scores, const Sample &probabilities);

constexpr st::GroupSet kAllGroups = ~st::GroupSet(0);
constexpr int kTrials = 3; ///< per formula

} // namespace mlir::cuda
