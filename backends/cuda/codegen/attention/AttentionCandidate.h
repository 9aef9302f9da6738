// A kernel of kind "attention", matched as attention or as half of its gradient.
#pragma once

#include "backends/cuda/codegen/analysis/FormulaEquivalence.h"
#include "backends/cuda/codegen/attention/Attention.h"

#include <random>

namespace mlir::cuda {

class AttentionCandidate {
public:
  AttentionCandidate(st::KernelOp kernel, std::string &reason) : kernel(kernel), reason(reason) {}

  /// Analyses the kernel, and sets sizes and the bias.
  LogicalResult read(Attention &attention);

  /// A matrix of the kernel with its rows along a group.
  LogicalResult set(StringRef name, const AttentionMatrix &matrix, unsigned along,
                    const Attention &attention, Attention::Tensor &tensor);
  LogicalResult setBias(Attention &attention);

  /// Arguments that the rows read beside scores.
  SmallVector<BlockArgument> readArguments() const;
  Value outside(BlockArgument argument) { return kernel.getInputs()[argument.getArgNumber()]; }

  /// Random numbers that vary along some groups.
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
  unsigned batch = 0, head = 0; ///< groups; the number of groups: there is none
  BlockArgument bias;           ///< may be null

private:
  std::string &reason;
};

/// What the formula of attention makes of some scores.
struct ExpectedRows {
  ExpectedRows(const Attention &attention, const Sample &scores, const Sample &bias);

  Sample probabilities, max, sum;
};

/// The scale by which probabilities without a bias follow from scores; 0: by none.
double findScale(const Sample &scores, const Sample &probabilities);

constexpr st::GroupSet kAllGroups = ~st::GroupSet(0);
constexpr int kTrials = 3; ///< of a formula

} // namespace mlir::cuda
