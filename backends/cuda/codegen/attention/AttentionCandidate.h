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

  /// Sets `tensor` from a matrix of the kernel whose rows are along a group.
  LogicalResult set(StringRef name, const AttentionMatrix &matrix, unsigned along,
                    const Attention &attention, Attention::Tensor &tensor);
  LogicalResult setBias(Attention &attention);

  /// Arguments that the row computation reads besides the scores.
  SmallVector<BlockArgument> readArguments() const;
  Value outside(BlockArgument argument) { return kernel.getInputs()[argument.getArgNumber()]; }

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
  unsigned batch = 0, head = 0; ///< group numbers; the number of groups if absent
  BlockArgument bias;           ///< may be null

private:
  std::string &reason;
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
