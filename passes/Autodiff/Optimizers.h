// Optimizers: each is a formula for one parameter, written in stablehlo.
//
// Nothing behind `add-optimizer` knows an optimizer by name. A sum over a whole parameter (a norm,
// a mean of a row) is a reduction like any other: where the parameter is sharded, partitioning
// makes it a partial one and a collective.
#pragma once

#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Autodiff/Passes.h"
#include <memory>

namespace mlir::st {

/// One parameter of a step.
struct ParameterUpdate {
  StringAttr name;
  Value parameter, gradient;
  double weightDecay; ///< of this parameter; 0 is none
};

/// Keeps tensors from one step to the next.
class StateSource {
public:
  virtual ~StateSource() = default;
  /// State `<parameter><suffix>` as the step finds it; zeros before the first step.
  virtual Value addState(StringAttr parameter, StringRef suffix, RankedTensorType type) = 0;
  /// What the step leaves in the place of a value that addState returned.
  virtual void setState(Value state, Value updated) = 0;
};

class Optimizer {
public:
  virtual ~Optimizer() = default;
  /// Whether prepare() wants the number of the step, counted from 1.
  virtual bool readsStep() const { return true; }
  /// Emits the scalars that all updates share. `step` is null where it is not read.
  virtual void prepare(Value learningRate, Value step) = 0;
  /// Emits the update of one parameter and returns its new value.
  virtual Value update(const ParameterUpdate &update) = 0;
};

/// All three outlive the optimizer.
std::unique_ptr<Optimizer> createOptimizer(Emitter &emit, const AddOptimizerOptions &options,
                                           StateSource &source);

/// Reports the first option out of its range.
LogicalResult checkOptimizer(Operation *op, const AddOptimizerOptions &options);

/// What later phases and the runner want to know of the optimizer: its name and its constants.
DictionaryAttr describeOptimizer(Builder &builder, const AddOptimizerOptions &options);

} // namespace mlir::st
