// The handlers of the interpreter. Each evaluates a family of ops.
#ifndef ST_REFERENCE_OPHANDLERS_H
#define ST_REFERENCE_OPHANDLERS_H

#include "lib/Reference/Evaluation/Evaluator.h"
#include "lib/Reference/Evaluation/ScalarComputation.h"

namespace mlir::stablehlo {
class CustomCallOp;
} // namespace mlir::stablehlo

namespace mlir::st::ref {

/// The outcome of a handler for an op.
enum class Outcome {
  Done,
  /// Failed with a diagnostic.
  Failed,
  /// The op is not one of the handler's.
  Unknown,
};

inline Outcome toOutcome(LogicalResult result) {
  return succeeded(result) ? Outcome::Done : Outcome::Failed;
}

/// One op with its operands on one rank.
struct TensorCall {
  Operation &op;
  ArrayRef<Tensor> operands;
  SmallVectorImpl<Tensor> &results;
  /// For ops with regions, which may read values from outside.
  Evaluator &evaluator;
  int64_t rank;

  /// Sets the only result. No tensor means that the kernel does not support the element type, which
  /// the caller then reports.
  Outcome finish(Tensor result) {
    results.push_back(std::move(result));
    return Outcome::Done;
  }

  ArrayRef<int64_t> resultShape() const {
    return cast<RankedTensorType>(op.getResult(0).getType()).getShape();
  }
  ElementType resultType() const;
};

// Ops whose results on a rank depend only on the operands on that rank.
Outcome evalElementwise(TensorCall &call);
Outcome evalDataMovement(TensorCall &call);
Outcome evalIndexing(TensorCall &call);
Outcome evalContraction(TensorCall &call);
Outcome evalReduction(TensorCall &call);
Outcome evalLinearAlgebra(TensorCall &call);
Outcome evalNormalization(TensorCall &call);
Outcome evalRandom(TensorCall &call);

// Ops that read several ranks, or evaluate regions on some of them.
Outcome evalControlFlow(Evaluator &evaluator, Operation &op);
Outcome evalCollective(Evaluator &evaluator, Operation &op);
Outcome evalManual(Evaluator &evaluator, Operation &op);
Outcome evalReplicaGroups(Evaluator &evaluator, Operation &op);

/// The custom calls `check.expect_eq`, `check.expect_almost_eq` (an absolute `tolerance`) and
/// `check.expect_close` (`min_ulp_difference`, `max_ulp_difference`), which fail if their operands
/// differ. NaNs are equal.
Outcome evalCheck(Evaluator &evaluator, stablehlo::CustomCallOp op);

/// A list of strides or dilations; ones if it is absent.
inline Shape orOnes(std::optional<ArrayRef<int64_t>> list, size_t size) {
  return list ? Shape(*list) : Shape(size, 1);
}

/// The kernel of an elementwise op with two operands and one type.
std::optional<BinaryKind> getBinaryKind(Operation &op);

/// Returns true if the op computes each element of its results from the operands' elements at the
/// same position.
bool isElementwise(Operation &op);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_OPHANDLERS_H
