// Checks what is a GPU's of an executable.
#ifndef ST_RUNTIME_VALIDATECUDA_H
#define ST_RUNTIME_VALIDATECUDA_H

#include "lib/Proto/executable.pb.h"

#include "absl/status/status.h"

namespace st {

/// Of an executable whose groups passed all other checks: images and kernels, and that each command
/// of each task stays in the memory of the ranks that it names. What code does with its arguments
/// is not checked.
absl::Status validateCuda(const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_VALIDATECUDA_H
