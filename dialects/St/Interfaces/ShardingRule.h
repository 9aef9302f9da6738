// Factor rules: how the dimensions of an op's operands and results correspond.
//
// Example, C[b,m,n] = dot(A[b,m,k], B[b,k,n]): factors b, m, n are parallel, k is
// reduced; A is [[b],[m],[k]], B is [[b],[k],[n]], C is [[b],[m],[n]]. A reshape
// [S*B] <- [S,B] has factors S and B; the result dimension is [[S,B]], major first.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include <functional>

namespace mlir::st {

/// On a slice that takes the first element of these dimensions. The program declares that all
/// elements along them are equal. If they differ, each device takes the element that it holds.
constexpr llvm::StringLiteral kCopiesAttr = "st.copies";

enum class FactorKind {
  Parallel,        ///< iterations are independent; axes on it occur in operands and results
  Reduction,       ///< absent from the results: axes on it leave the results unreduced
  NeedReplication, ///< must not be sharded (e.g. the dimension that a sort orders)
  Permutation,     ///< elements move along it (slice, concatenate, pad): must not be sharded, with
                   ///< the exception of Factor::movesElements, but a sharding of one tensor along
                   ///< it is a good guess for the others
};

enum class ReductionKind { Sum, Max, Min, And, Or };

struct Factor {
  int64_t size = 1; ///< of a Permutation factor: that of the first tensor with it
  FactorKind kind = FactorKind::Parallel;
  ReductionKind reduction = ReductionKind::Sum; ///< of a Reduction factor
  int64_t part = 0;                             ///< of the op, see ShardingRule::parts
  bool isCounted = false; ///< an attribute of the op gives the size: padding cannot enlarge it
  /// For a Parallel or Reduction factor whose parts also need elements of the neighbouring parts
  /// (overlapping windows): the smallest size of a part for which one neighbour on each side has
  /// all of these elements. 0 for other factors. Such parts are contiguous, split over devices and
  /// not over micro-batches, and not padded, because positions beyond the ends have a meaning.
  int64_t minPartSize = 0;
  /// For a Permutation factor: each element moves to one position of the result. Devices can
  /// exchange such elements, so this factor may be split over them, with one element per part.
  bool movesElements = false;
};

/// For each dimension of a tensor the factors that compose it, major to minor. A dimension of size
/// 1, or one that corresponds to no factor, has none. A dimension along which elements move has one
/// Permutation factor, followed by the Parallel factor of blocks that move together, if there are
/// any.
using TensorFactors = llvm::SmallVector<llvm::SmallVector<int64_t, 1>>;

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<TensorFactors> operands;
  llvm::SmallVector<TensorFactors> results;
  /// The op is linear jointly in all `linearOperands` (add, concatenate), or separately in each of
  /// them with the others fixed (multiply, dot_general). Such operands may stay unreduced.
  enum class Linearity { None, Jointly, Separately } linearity = Linearity::None;
  llvm::SmallVector<int64_t> linearOperands;
  /// Operands that a sum over a Reduction factor includes once for any size of the factor (the
  /// initial value of a reduce, the target of a scatter-add). If the factor is sharded, only one
  /// shard may add them.
  llvm::SmallVector<int64_t> countedOnce;
  /// The Reduction factors that each result sums over. Empty if every result sums over all of them.
  /// If the results differ (a loop), operand i of `countedOnce` starts the sum of result i.
  llvm::SmallVector<llvm::SmallVector<int64_t, 1>> sums;
  /// The number of independent ops that the op consists of; more than 1 for an
  /// optimization_barrier. Part i is operand i, result i and their factors, and is sharded
  /// independently.
  int64_t parts = 1;

  bool isShardable() const { return !factors.empty(); }
  /// The part of an operand or a result.
  int64_t partOf(int64_t tensor) const { return parts > 1 ? tensor : 0; }
  int64_t addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                    ReductionKind reduction = ReductionKind::Sum);
  void setLinear(Linearity how, llvm::ArrayRef<int64_t> operands);
};

/// The context in which `localize` converts an op to its per-device form.
struct LocalizeContext {
  const ShardingRule &rule;                ///< of the op before its operands became local
  OpBuilder &builder;                      ///< positioned before the op
  llvm::SmallVector<Type> resultTypes;     ///< per-device result types
  llvm::SmallVector<int64_t> factorShards; ///< number of parts of each factor
  /// Converts positions within this device's part of a factor (an integer tensor) to positions
  /// within the global factor, or back. Positions outside of this device's part become negative or
  /// at least its size.
  using Convert = std::function<Value(int64_t factor, Value positions)>;
  Convert toGlobal, toLocal;
  /// Returns the device's part of `value` with `low` elements of the previous device and `high` of
  /// the next one along `dim`, which a factor with a minPartSize splits. Positions beyond the ends
  /// of the global dimension contain the scalar `fill`, or zeros if it is null.
  using Exchange = std::function<Value(Value value, int64_t dim, int64_t factor, int64_t low,
                                       int64_t high, Value fill)>;
  Exchange withNeighbours;
  /// Sends parts of `value` along a split factor with movesElements: the device at position i
  /// receives the part of the device at position sources[i].
  std::function<Value(Value value, int64_t factor, llvm::ArrayRef<int64_t> sources)> permuteParts;
};

/// The default `localize`: sets the result types of an op whose operands already have local types.
llvm::LogicalResult localizeByTypes(Operation *op, LocalizeContext &context);

} // namespace mlir::st

#include "dialects/St/Interfaces/ShardingRuleInterface.h.inc"
