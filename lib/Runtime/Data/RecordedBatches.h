// Records the batches of a run in a file that another run can read.
#ifndef ST_RUNTIME_DATA_RECORDEDBATCHES_H
#define ST_RUNTIME_DATA_RECORDEDBATCHES_H

#include "lib/Runtime/Data/BatchSource.h"

#include "absl/status/status.h"

#include <cstdint>
#include <string>

namespace st {

/// Gathers batches in memory, up to 4 GiB.
class RecordedBatches {
public:
  /// All batches must have the same tensors.
  absl::Status add(const Batch &batch);

  /// Writes a safetensors file in which a tensor [B, ...] is [N, B, ...], as --data reads it.
  absl::Status write(const std::string &path) const;

private:
  Batch gathered; ///< for each tensor, the bytes of all batches
  int64_t count = 0;
};

} // namespace st

#endif // ST_RUNTIME_DATA_RECORDEDBATCHES_H
