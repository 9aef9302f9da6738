// The cheapest path between shardings by definition, for comparison with planReshard: every
// sharding of a small tensor is a node, and every result of one collective, slice or mask is an
// edge.
//
// Sizes of dimensions and axes are powers of two. A dimension is a row of binary digits; an axis
// covers as many adjacent digits as the logarithm of its size.
#pragma once

#include "dialects/St/Sharding/ReshardPlan.h"
#include <map>

namespace mlir::st {

class EveryPath {
public:
  EveryPath(ArrayRef<int64_t> shape, const MeshAxes &axes, int64_t elementBytes);

  /// Every sharding of the tensor over the spatial axes, sums included.
  std::vector<TensorSharding> shardings;

  /// The least cost from one sharding to another.
  double cost(size_t from, size_t to) const;

private:
  /// The position of an axis: none, unreduced, or its first digit in a dimension.
  struct Role {
    enum { Free, Unreduced, Placed } kind = Free;
    size_t dim = 0;
    int64_t digit = 0;
    bool operator==(const Role &other) const {
      return kind == other.kind && dim == other.dim && digit == other.digit;
    }
  };
  using State = SmallVector<Role, 3>;

  void enumerate(State &state, size_t axis);
  bool isTaken(const State &state, size_t dim, int64_t digit) const;
  TensorSharding write(const State &state) const;
  double edge(const State &a, const State &b, const State &goal) const;
  bool lieTogether(const State &state, ArrayRef<size_t> moved) const;
  bool isPermutation(const State &a, const State &b) const;
  double bytes(const State &state) const;

  SmallVector<int64_t> shape, digits, sizes;
  double elementBytes;
  std::vector<State> states;
};

} // namespace mlir::st
