// Emits elementwise ops and reductions of kernels as arithmetic on scalars or vectors.
//
// The semantics are the reference interpreter's (docs/reference-interpreter.md), which also define
// the vector engine's table in docs/dtu-isa.md: 16-bit floats are computed in f32 and rounded after
// each op.
#pragma once

#include "backends/cuda/codegen/kernels/Number.h"
#include "dialects/St/IR/StDialect.h"

namespace mlir::cuda {

/// The type in which values of this element type are computed, signless for integers; null if none.
Type getComputeType(Type element);
/// The type of elements in memory: an i1 takes a byte.
Type getStorageType(Type element);
/// Convert a number between its compute type and its storage type.
Number toStorage(Number number);
Number fromStorage(Number number, Type element);

/// `stablehlo.convert` between element types.
Number convertNumber(Number number, Type from, Type to);

/// An attribute of kernels whose users round their results to 16 bits, for any result
/// types.
constexpr llvm::StringLiteral kRoundedAttr = "cuda.rounded";
/// Returns true if all floats that a kernel computes are rounded to 16 bits: all results are, or it
/// has the attribute.
bool roundsTo16Bits(st::KernelOp kernel);

/// Emits an elementwise op on operands in their compute types. Fails with a diagnostic. Functions
/// are less accurate if the kernel's results are rounded to 16 bits (ElementaryFunctions.h).
FailureOr<Number> emitElementwise(Operation *op, ArrayRef<Number> operands);

/// The combination of two numbers by the body of a reduction.
class Combiner {
public:
  /// Fails with a diagnostic if the body is not a single commutative op of its two arguments.
  static FailureOr<Combiner> get(Operation *reduction);

  /// The type of partial results: f32 for 16-bit floats, else the compute type.
  Type getType() const;
  Number combine(Number a, Number b) const;
  /// The neutral element in the type of partial results; `like` may be any number.
  Number identity(Number like) const;
  /// Uses the GPU's instruction for maxima and minima of f32, which propagates NaN too. Loops over
  /// wide rows do not use it: their shorter code would be unrolled further and need twice the
  /// registers.
  void useInstruction() { byInstruction = true; }
  /// Combines all elements of a vector by halving it.
  Number combineElements(Number vector) const;

private:
  enum class Kind { Add, Mul, Max, Min, And, Or, Xor };
  Combiner(Kind kind, Type element) : kind(kind), element(element) {}

  Kind kind;
  Type element; // the tensor's element type
  bool byInstruction = false;
};

} // namespace mlir::cuda
