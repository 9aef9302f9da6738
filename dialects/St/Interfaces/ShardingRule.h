// Factor rules: how the dimensions of an op's operands and results correspond.
//
// Example, C[b,m,n] = dot(A[b,m,k], B[b,k,n]): factors b, m, n are parallel, k is
// reduced; A is [[b],[m],[k]], B is [[b],[k],[n]], C is [[b],[m],[n]]. A reshape
// [S*B] <- [S,B] has factors S and B; the result dimension is [[S,B]], major first.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::st {

enum class FactorKind {
  Parallel,        ///< iterations are independent; axes on it appear in operands and results alike
  Reduction,       ///< absent from the results: axes on it leave the results unreduced
  NeedReplication, ///< must not be sharded (e.g. the dimension that a sort runs along)
  Permutation,     ///< elements move along it (slice, concatenate, pad): sharded only with data movement
};

enum class ReductionKind { Sum, Max, Min, And, Or };

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  ReductionKind reduction = ReductionKind::Sum; ///< of a Reduction factor
};

/// For each dimension of a tensor the factors that compose it, major to minor.
/// A dimension of size 1 that broadcasts, or that follows no factor, has none.
using TensorFactors = llvm::SmallVector<llvm::SmallVector<int64_t, 1>>;

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands;
  llvm::SmallVector<TensorFactors> results;
  /// Whether the result is a linear function of all operands at once (add), or of
  /// single operands (multiply, divide's first): such operands may stay unreduced.
  enum class Linearity { None, AllOperands, OneOperand } linearity = Linearity::None;
  /// With OneOperand: the operands in which the op is linear.
  llvm::SmallVector<int64_t> linearOperands;

  bool isShardable() const { return !factors.empty(); }
  int64_t addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                    ReductionKind reduction = ReductionKind::Sum);
};

/// What `localize` needs to turn one op into its per-device form.
struct LocalizeContext {
  llvm::SmallVector<Type> resultTypes; ///< per-device result types
  /// For each factor: the mesh axes that split it, major to minor, with their sizes.
  llvm::SmallVector<llvm::SmallVector<std::pair<llvm::StringRef, int64_t>>> factorAxes;
  llvm::SmallVector<Value> operands;   ///< per-device operands
  IRMapping *mapping = nullptr;
  Operation *localOp = nullptr;        ///< set by localize: replaces the op
  llvm::SmallVector<Value> results;    ///< set by localize: replace the op's results
};

/// The default `localize`: clones the op with the given operands and result types.
llvm::LogicalResult localizeByTypes(Operation *op, LocalizeContext &context);

} // namespace mlir::st

#include "dialects/St/Interfaces/ShardingRuleInterface.h.inc"
