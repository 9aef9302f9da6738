// Connects all pairs of processes that know the address of process 0.
#ifndef ST_LIB_RUNTIME_TCPJOIN_H
#define ST_LIB_RUNTIME_TCPJOIN_H

#include "lib/Runtime/Processes/Socket.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <vector>

namespace st {

/// A connection to every other process, by its number; the entry of this process is not open. Does
/// not read any data that peers send after the handshake.
absl::StatusOr<std::vector<Socket>> joinByTcp(const TcpOptions &options);

} // namespace st

#endif // ST_LIB_RUNTIME_TCPJOIN_H
