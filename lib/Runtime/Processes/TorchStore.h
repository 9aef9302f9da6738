// The key-value store of PyTorch that torchrun keeps at MASTER_ADDR and MASTER_PORT for those that
// it starts.
#ifndef ST_LIB_RUNTIME_TORCHSTORE_H
#define ST_LIB_RUNTIME_TORCHSTORE_H

#include "lib/Runtime/Processes/Socket.h"

#include <string>

namespace st {

/// Sets a value of the store at the other end. It is there on return.
absl::Status setInStore(const Socket &store, const std::string &key, const std::string &value,
                        Clock::time_point deadline);

/// Waits until a value is set.
absl::StatusOr<std::string> getFromStore(const Socket &store, const std::string &key,
                                         Clock::time_point deadline);

} // namespace st

#endif // ST_LIB_RUNTIME_TORCHSTORE_H
