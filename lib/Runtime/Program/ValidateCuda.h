// Checks the GPU part of an executable.
#ifndef ST_RUNTIME_VALIDATECUDA_H
#define ST_RUNTIME_VALIDATECUDA_H

#include "lib/Proto/executable.pb.h"

#include "absl/status/status.h"

namespace st {

/// Checks images and kernels of an executable whose groups passed all other checks, and that each
/// command of each task stays within the memory of the ranks that it names. Does not check what
/// kernels do with their arguments.
absl::Status validateCuda(const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_VALIDATECUDA_H
