// The possible next steps from a sharding towards another, for planReshard.
#pragma once

#include "dialects/St/Sharding/ReshardPlan.h"

namespace mlir::st {

class ReshardMoves {
public:
  using Visit = llvm::function_ref<void(ReshardStep step, TensorSharding next)>;

  ReshardMoves(const TensorSharding &from, const TensorSharding &to, ArrayRef<int64_t> shape,
               const MeshAxes &axes);

  /// Visits every possible step from `now`, first those that move no data. The `pairs` of
  /// permutations are not set.
  void visitFrom(const TensorSharding &now, Visit visit) const;

  /// Returns true if every axis that the step from `now` to `next` moves is then free or at its
  /// position in `to`.
  bool isDirect(const TensorSharding &now, const TensorSharding &next) const;

  /// Returns true if only local steps remain: no axis is at a position that it must leave.
  bool needsNoCollective(const TensorSharding &now) const;

  /// The minimum number of elements that a device holds in any intermediate sharding.
  int64_t minElements() const;

  /// Elements that a device holds.
  int64_t elements(const TensorSharding &sharding) const;

private:
  /// A position for a sequence of axes that are adjacent in a device's part.
  struct Site {
    int64_t dim, outer;
    Splits splits; ///< of the dimension with the axes
  };
  struct Run {
    SmallVector<Axis, 2> axes;
    int64_t outer; ///< of the first
  };

  void emit(const TensorSharding &now, ReshardStep step, TensorSharding next, Visit visit) const;
  void slices(const TensorSharding &now, Visit visit) const;
  void accumulate(const TensorSharding &now, Visit visit) const;
  void reductions(const TensorSharding &now, Visit visit) const;
  void exchanges(const TensorSharding &now, Visit visit) const;
  void permutations(const TensorSharding &now, Visit visit) const;
  void gathers(const TensorSharding &now, Visit visit) const;
  void mask(const TensorSharding &now, Visit visit) const;

  bool isUsed(const TensorSharding &sharding, Axis axis) const {
    return sharding.isSplitOver(axis) || sharding.isUnreducedOver(axis);
  }
  /// Returns true if the order in `from` lets the axis be reduced now.
  bool isNext(const TensorSharding &now, Axis axis) const;
  /// The unreduced axes of `now` that `to` wants reduced.
  SmallVector<Axis, 4> dueReductions(const TensorSharding &now) const;
  SmallVector<Site> sites(const Splits &splits, int64_t dim, ArrayRef<Axis> sequence) const;
  std::optional<Splits> placeFrom(Splits splits, int64_t dim, int64_t outer,
                                  ArrayRef<Axis> sequence) const;
  SmallVector<Run> runs(const Splits &splits) const;
  void addPermutation(const TensorSharding &now, TensorSharding next, Visit visit) const;

  const TensorSharding &from, &to;
  ArrayRef<int64_t> shape;
  const MeshAxes &axes;
  /// Spatial axes that `from` or `to` uses.
  SmallVector<Axis, 4> spatial;
  /// Dimensions that `from` or `to` does not divide; intermediate shardings need not divide them
  /// either.
  SmallVector<bool> isRagged;
};

/// The pairs of a permutation over some axes, from one sharding to another. Every device gets its
/// part from a device that holds it: from itself if possible. If several other devices hold it,
/// different receivers use different ones.
SmallVector<int64_t, 0> permutationPairs(const TensorSharding &now, const TensorSharding &next,
                                         ArrayRef<Axis> over, const MeshAxes &axes);

} // namespace mlir::st
