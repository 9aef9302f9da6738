// How processes that know the address of process 0 come to have a connection between each two.
#ifndef ST_LIB_RUNTIME_TCPJOIN_H
#define ST_LIB_RUNTIME_TCPJOIN_H

#include "lib/Runtime/Processes/Socket.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <vector>

namespace st {

/// A connection to every other process, by its number; the own one is not open. What others send
/// once they have theirs is not read.
absl::StatusOr<std::vector<Socket>> joinByTcp(const TcpOptions &options);

} // namespace st

#endif // ST_LIB_RUNTIME_TCPJOIN_H
