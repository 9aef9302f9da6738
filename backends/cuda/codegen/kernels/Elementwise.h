// Elementwise ops and reductions of kernels as arithmetic on single numbers or vectors.
//
// The meaning is the reference interpreter's (docs/reference-interpreter.md), op by op that of the
// vector engine's table in docs/dtu-isa.md: 16-bit floats are computed in f32 and rounded after
// each op.
#pragma once

#include "backends/cuda/codegen/kernels/Number.h"
#include "dialects/St/IR/StDialect.h"

namespace mlir::cuda {

/// The type in which a value of this element type is computed: integers without sign. Null: none.
Type getComputeType(Type element);
/// The type of its elements in memory: an i1 takes a byte.
Type getStorageType(Type element);
/// Of a number as it is computed and as it lies in memory.
Number toStorage(Number number);
Number fromStorage(Number number, Type element);

/// `stablehlo.convert` between element types.
Number convertNumber(Number number, Type from, Type to);

/// An attribute of kernels whose work is rounded to 16 bits behind them, whatever their results
/// are.
constexpr llvm::StringLiteral kRoundedAttr = "cuda.rounded";
/// Whether all that a kernel computes of floats is rounded to 16 bits: all results are, or it has
/// the attribute.
bool roundsTo16Bits(st::KernelOp kernel);

/// The result of an elementwise op on numbers of its operands' compute types. Fails with a
/// diagnostic. Functions of numbers that are rounded to 16 bits have as much accuracy as that
/// needs (ElementaryFunctions.h).
FailureOr<Number> emitElementwise(Operation *op, ArrayRef<Number> operands);

/// How the body of a reduction combines two numbers.
class Combiner {
public:
  /// Fails with a diagnostic where the body is no single op of two operands that is the same in any
  /// order.
  static FailureOr<Combiner> get(Operation *reduction);

  /// The type that partial results have: f32 for 16-bit floats, else the compute type.
  Type getType() const;
  Number combine(Number a, Number b) const;
  /// The number of partial results' type that changes nothing; `like` may be any number.
  Number identity(Number like) const;
  /// Takes maxima and minima of f32 by GPUs' instruction, which hands NaNs on too. Loops over wide
  /// rows do not want it: with less code they are unrolled further, and take twice the registers.
  void useInstruction() { byInstruction = true; }
  /// All elements of a vector combined, halves with halves.
  Number combineElements(Number vector) const;

private:
  enum class Kind { Add, Mul, Max, Min, And, Or, Xor };
  Combiner(Kind kind, Type element) : kind(kind), element(element) {}

  Kind kind;
  Type element; // of the tensor
  bool byInstruction = false;
};

} // namespace mlir::cuda
