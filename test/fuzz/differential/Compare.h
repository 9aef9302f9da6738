// Whether two runs of a program gave the same numbers.
#pragma once

#include "lib/Reference/Interpreter.h"

#include <string>

namespace mlir::st {

/// The largest difference, in parts of the largest number, that other orders of summation explain
/// in a program whose coarsest type of float is that of `module`; 0 where it computes in integers
/// alone.
double getTolerance(ModuleOp module);

/// Whether all numbers are finite and none is so large that a difference says nothing.
bool areWellConditioned(const ref::NamedTensors &results);

/// The same inputs, each number in f32 or f64 a unit or two of f32's last place away.
ref::NamedTensors nudge(const ref::NamedTensors &inputs);

/// The first result that differs, in words; empty where there is none. Of a result that replaces an
/// input the change is compared. Results that only `actual` has do not count. With `nudged`, the
/// results of the nudged inputs, differences of the order of those that the nudge makes do not
/// count either: rounding explains them.
std::string describeDifference(const ref::NamedTensors &inputs, const ref::NamedTensors &expected,
                               const ref::NamedTensors &actual, double tolerance,
                               const ref::NamedTensors *nudged = nullptr);

} // namespace mlir::st
