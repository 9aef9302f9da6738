// Shardings given as `mhlo.sharding` strings.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::st {

/// `{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}`: devices 0, 1, … shaped as `reshape`,
/// transposed by `transpose`, tile the tensor as in `tiles`. Older programs list the devices:
/// `{devices=[2,2]0,2,1,3}`.
struct GspmdSharding {
  /// `{unknown}` constrains nothing.
  enum Kind { Replicated, Manual, Tiled, Unknown } kind = Replicated;
  SmallVector<int64_t> tiles, reshape, transpose;
  /// The last tile dimension is not a tensor dimension.
  bool lastIsReplicated = false;
  /// Tensors of one group have equal shardings: `shard_as 3`, `shard_like 3`.
  std::optional<int64_t> group;
};

/// Fails, with a message in `why`, if the text is not such a string or cannot be imported.
FailureOr<GspmdSharding> parseGspmdSharding(StringRef text, std::string &why);

/// The axis sizes of the coarsest mesh, devices row-major, that can express all shardings; fails if
/// there is none.
FailureOr<SmallVector<int64_t>> commonAxes(ArrayRef<GspmdSharding> shardings);

/// The axes of each tensor dimension, by number; fails if a tile is not a product of axes.
FailureOr<SmallVector<SmallVector<int64_t>>> axesOf(const GspmdSharding &sharding,
                                                    ArrayRef<int64_t> meshAxes, int64_t rank);

} // namespace mlir::st
