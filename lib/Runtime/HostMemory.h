// Checks that this machine has enough memory for a program's simulated devices.
#ifndef ST_RUNTIME_HOSTMEMORY_H
#define ST_RUNTIME_HOSTMEMORY_H

#include "lib/Proto/executable.pb.h"

#include "absl/status/status.h"

namespace st {

/// Total bytes of all arenas, with the scratch memory of kernels.
double arenaBytes(const proto::Executable &program);
/// Total bytes that all ranks keep in the memory of their devices' hosts.
double hostArenaBytes(const proto::Executable &program);

/// An error if the arenas of a program exceed this machine's memory.
absl::Status checkHostMemory(const proto::Executable &program);

/// Returns true if the arenas of this process would fit into the memory that is free now.
bool fitsFreeMemory(const proto::Executable &program, int64_t processes);

} // namespace st

#endif // ST_RUNTIME_HOSTMEMORY_H
