// Batches from a user's file.
#ifndef ST_RUNTIME_DATA_TENSORFILESOURCE_H
#define ST_RUNTIME_DATA_TENSORFILESOURCE_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// A safetensors file with one tensor per batch input, by name. For an input of shape [B, ...] it
/// holds N batches as [N, B, ...] or [N B, ...]; N is the same for all inputs, and batch k is
/// number k modulo N. The element type is the input's; 64-bit integers are accepted for an i32
/// input if their values fit. Other tensors in the file are ignored.
absl::StatusOr<std::unique_ptr<BatchSource>> createTensorFileSource(const std::string &path,
                                                                    const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_TENSORFILESOURCE_H
