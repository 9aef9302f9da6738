// Shardings of results that the user leaves open.
#pragma once

#include "passes/Propagation/StepGraph.h"

namespace mlir::st {

/// The sharding that Shardy gives each value of a function, so that a result without a stated
/// sharding gets the same one as on JAX's own platforms. It depends on seeds and factor rules
/// alone, not on costs: `Constraints` and `Resolution` decide how values are computed.
///
/// Axes spread along a factor as far as all tensors with it agree (Shardy's basic factor
/// propagation). The rules for competing factors were found by comparison with JAX's CPU platform:
/// if two factors of a tensor compete for an axis, that of the first operand gets it; in an
/// elementwise op, the one with more parts, and in others a factor along which elements do not
/// move. Elementwise ops come first. A dimension may have axes that do not divide it, and axes
/// propagate along dimensions that an op cannot split: a slice of a slice may be split again.
class OpenResults {
public:
  explicit OpenResults(const StepGraph &graph) : graph(graph) {}

  void run();
  /// The sharding of an open result: without axes that do not divide a dimension.
  TensorSharding of(Value value) const;

private:
  using Axes = SmallVector<Split, 2>;
  /// The axes of a factor, and the number of the tensor that has them: operands first.
  struct Merged {
    Axes axes;
    int64_t source = 0;
  };

  void seed();
  bool visit(const OpNode &node);
  bool extend(Value value, const ShardingRule &rule, const TensorFactors &tensor,
              ArrayRef<Merged> factors);
  SmallVector<Merged> merge(const OpNode &node) const;
  void read(const ShardingRule &rule, const TensorFactors &tensor, Value value,
            SmallVectorImpl<std::optional<Axes>> &factors) const;
  void spread(bool onlyPassing);
  /// Returns true if a stated dimension has a lower priority than the current one.
  bool isHidden(Value value, int64_t dim) const;
  bool isClosed(Value value, int64_t dim) const;

  const StepGraph &graph;
  DenseMap<Value, TensorSharding> shardings;
  int64_t priority = 0;
};

} // namespace mlir::st
