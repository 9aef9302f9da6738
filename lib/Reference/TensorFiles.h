// Tensors in safetensors files.
#ifndef ST_REFERENCE_TENSORFILES_H
#define ST_REFERENCE_TENSORFILES_H

#include "absl/status/status.h"
#include "lib/Reference/Interpreter.h"

namespace mlir::st::ref {

/// Adds the tensors of a file to `tensors`. A duplicate name is an error.
absl::Status readTensors(const std::string &path, NamedTensors &tensors);

absl::Status writeTensors(const std::string &path, const NamedTensors &tensors);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_TENSORFILES_H
