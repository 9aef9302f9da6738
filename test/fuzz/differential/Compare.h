// Compares the numbers of two runs of a program.
#pragma once

#include "lib/Reference/Interpreter.h"

#include <string>

namespace mlir::st {

/// The precision with which a program computes.
struct Roundings {
  /// The largest difference, relative to the largest number, that other orders of summation
  /// explain; 0 if it computes only in integers.
  double tolerance = 0;
  /// The relative size of a rounding or two.
  double step = 0x1p-22;
};

/// The roundings of a program, by its coarsest float type.
Roundings getRoundings(ModuleOp module);

/// Returns true if all numbers are finite and small enough for a meaningful comparison.
bool areWellConditioned(const ref::NamedTensors &results);

/// The same inputs, with each f32 or f64 number changed by `step`. `variant`, below 10, chooses
/// which numbers go down.
ref::NamedTensors nudge(const ref::NamedTensors &inputs, unsigned variant, double step);

/// The results of both runs with nudged inputs.
struct NudgedResults {
  const ref::NamedTensors &expected, &actual;
};

/// Describes the first result that differs; empty if there is none. Compares the change of a result
/// that replaces an input. Ignores results that only `actual` has. With `nudged` also ignores
/// differences of the size that the nudge causes in either run: rounding explains them. The runs
/// round differently where terms cancel: the gradient of a key's bias is zero without roundings.
std::string describeDifference(const ref::NamedTensors &inputs, const ref::NamedTensors &expected,
                               const ref::NamedTensors &actual, double tolerance,
                               const NudgedResults *nudged = nullptr);

} // namespace mlir::st
