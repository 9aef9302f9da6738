// Which function of one number an elementwise computation is, whatever its form.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

#include <functional>
#include <optional>

namespace mlir::cuda {

/// Computes elementwise ops in f64 at several points at once.
///
/// Differentiation and simplification leave a formula in any order of ops, and what it keeps of the
/// forward pass may come from another kernel. So a function is recognised by its values: rounding
/// to narrower types, and that constants are of these, moves them by less than functions that
/// networks use are apart.
class ScalarFunction {
public:
  using Numbers = SmallVector<double, 0>;
  /// Where a value was made that an op reads, such as the body of another kernel for an argument.
  using Definition = std::function<Value(Value)>;

  explicit ScalarFunction(Definition definition) : definition(std::move(definition)) {}

  /// Whether `value` is GELU of `x` as its tanh approximation (Hendrycks and Gimpel, 2016):
  /// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
  bool isGelu(Value value, Value x) const;
  /// Whether `value` is `gradient` times the derivative of that at `x`.
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

/// The same as ops on f32; `x` and `gradient` of any float type, the result of `x`'s.
Value emitGelu(OpBuilder &builder, Location loc, Value x);
Value emitGeluGradient(OpBuilder &builder, Location loc, Value gradient, Value x);

} // namespace mlir::cuda
