// Recognises the scalar function that an elementwise computation applies, independent of its form.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

#include <functional>
#include <optional>

namespace mlir::cuda {

/// Computes elementwise ops in f64 at several points at once.
///
/// After differentiation and simplification the ops of a formula may have any order, and stashed
/// forward values may come from another kernel. So a function is recognised by its values. Values
/// and constants may be rounded to narrower types; the errors are smaller than the differences
/// between functions that networks use.
class ScalarFunction {
public:
  using Numbers = SmallVector<double, 0>;
  /// Returns the definition of an operand, such as a value in another kernel's body for an
  /// argument.
  using Definition = std::function<Value(Value)>;

  explicit ScalarFunction(Definition definition) : definition(std::move(definition)) {}

  /// Returns true if `value` is GELU of `x` in its tanh approximation (Hendrycks and Gimpel, 2016):
  /// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
  bool isGelu(Value value, Value x) const;
  /// Returns true if `value` is `gradient` times the derivative of that GELU at `x`.
  bool isGeluGradient(Value value, Value gradient, Value x) const;

private:
  using Known = llvm::SmallDenseMap<Value, std::optional<Numbers>>;

  Definition definition;

  std::optional<Numbers> evaluate(Value value, Known &known) const;
  std::optional<Numbers> evaluateOp(Operation *op, Known &known) const;
};

/// The tanh approximation of GELU and its derivative.
double gelu(double x);
double geluDerivative(double x);

/// The same as ops on f32. `x` and `gradient` have any float type; the result has that of `x`.
Value emitGelu(OpBuilder &builder, Location loc, Value x);
Value emitGeluGradient(OpBuilder &builder, Location loc, Value gradient, Value x);

} // namespace mlir::cuda
