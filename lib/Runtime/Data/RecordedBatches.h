// The batches that a run trained on, as a file that another run can read.
#ifndef ST_RUNTIME_DATA_RECORDEDBATCHES_H
#define ST_RUNTIME_DATA_RECORDEDBATCHES_H

#include "lib/Runtime/Data/BatchSource.h"

#include "absl/status/status.h"

#include <cstdint>
#include <string>

namespace st {

/// Gathers batches in memory, at most 4 GiB of them.
class RecordedBatches {
public:
  /// All batches have the same tensors.
  absl::Status add(const Batch &batch);

  /// Writes a safetensors file in which a tensor [B, ...] is [N, B, ...], as --data reads it.
  absl::Status write(const std::string &path) const;

private:
  Batch gathered; ///< of each tensor the bytes of all batches
  int64_t count = 0;
};

} // namespace st

#endif // ST_RUNTIME_DATA_RECORDEDBATCHES_H
