// The shardings that `mhlo.sharding` spells as strings.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::st {

/// `{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}`: devices 0, 1, … shaped as
/// `reshape`, transposed by `transpose`, tile the tensor as `tiles` says. Older programs list the
/// devices, `{devices=[2,2]0,2,1,3}`.
struct GspmdSharding {
  /// `{unknown}` constraints nothing.
  enum Kind { Replicated, Manual, Tiled, Unknown } kind = Replicated;
  SmallVector<int64_t> tiles, reshape, transpose;
  /// The last tile dimension is no dimension of the tensor.
  bool lastIsReplicated = false;
  /// Tensors of one group are sharded alike: `shard_as 3`, `shard_like 3`.
  std::optional<int64_t> group;
};

/// Fails, with a message in `why`, on what is no such string or cannot be imported.
FailureOr<GspmdSharding> parseGspmdSharding(StringRef text, std::string &why);

/// The sizes of the axes of the coarsest mesh, devices row-major, in which all
/// shardings can be said; fails where there is none.
FailureOr<SmallVector<int64_t>> commonAxes(ArrayRef<GspmdSharding> shardings);

/// The axes of each dimension of the tensor, by number; fails where a tile is no
/// product of axes.
FailureOr<SmallVector<SmallVector<int64_t>>> axesOf(const GspmdSharding &sharding,
                                                    ArrayRef<int64_t> meshAxes, int64_t rank);

} // namespace mlir::st
