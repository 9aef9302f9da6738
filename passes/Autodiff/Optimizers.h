// Optimizers: each is a formula for one parameter, written in stablehlo.
//
// Passes after `add-optimizer` do not depend on the optimizer. A sum over a parameter (a norm, a
// row mean) is an ordinary reduction: if the parameter is sharded, partitioning turns it into a
// partial reduction and a collective.
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
  /// State `<parameter><suffix>` at the start of the step; zeros before the first step.
  virtual Value addState(StringAttr parameter, StringRef suffix, RankedTensorType type) = 0;
  /// Sets the new value of a state that addState returned.
  virtual void setState(Value state, Value updated) = 0;
};

class Optimizer {
public:
  virtual ~Optimizer() = default;
  /// Returns true if prepare() needs the step number, counted from 1.
  virtual bool readsStep() const { return true; }
  /// Emits the scalars that all updates share. `step` is null if readsStep() is false.
  virtual void prepare(Value learningRate, Value step) = 0;
  /// Emits the update of one parameter and returns its new value.
  virtual Value update(const ParameterUpdate &update) = 0;
};

/// All three arguments must outlive the optimizer.
std::unique_ptr<Optimizer> createOptimizer(Emitter &emit, const AddOptimizerOptions &options,
                                           StateSource &source);

/// Fails with a diagnostic on the first option that is out of range.
LogicalResult checkOptimizer(Operation *op, const AddOptimizerOptions &options);

/// The optimizer's name and constants, for later phases and the runner.
DictionaryAttr describeOptimizer(Builder &builder, const AddOptimizerOptions &options);

} // namespace mlir::st
