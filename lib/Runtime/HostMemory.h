// Whether this machine can hold a program's devices.
#ifndef ST_RUNTIME_HOSTMEMORY_H
#define ST_RUNTIME_HOSTMEMORY_H

#include "lib/Proto/executable.pb.h"

#include "absl/status/status.h"

namespace st {

/// The bytes of all arenas together.
double arenaBytes(const proto::Executable &program);
/// The bytes of what all ranks put into the memory of their devices' hosts.
double hostArenaBytes(const proto::Executable &program);

/// An error where the arenas of a program take more than this machine has.
absl::Status checkHostMemory(const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_HOSTMEMORY_H
