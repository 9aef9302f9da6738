// Compares the numbers of two runs of a program.
#pragma once

#include "lib/Reference/Interpreter.h"

#include <string>

namespace mlir::st {

/// The largest difference, relative to the largest number, that other orders of summation explain
/// in a program with the coarsest float type of `module`; 0 if it computes only in integers.
double getTolerance(ModuleOp module);

/// Returns true if all numbers are finite and small enough for a meaningful comparison.
bool areWellConditioned(const ref::NamedTensors &results);

/// The same inputs, with each f32 or f64 number changed by a unit or two in f32's last place.
/// `variant`, below 10, chooses which numbers go down.
ref::NamedTensors nudge(const ref::NamedTensors &inputs, unsigned variant);

/// Describes the first result that differs; empty if there is none. For a result that replaces an
/// input compares the change. Ignores results that only `actual` has. With `nudged`, the results of
/// the nudged inputs, also ignores differences of the size that the nudge causes: rounding explains
/// them.
std::string describeDifference(const ref::NamedTensors &inputs, const ref::NamedTensors &expected,
                               const ref::NamedTensors &actual, double tolerance,
                               const ref::NamedTensors *nudged = nullptr);

} // namespace mlir::st
