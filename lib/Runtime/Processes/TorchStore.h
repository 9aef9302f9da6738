// PyTorch's key-value store, which torchrun runs at MASTER_ADDR and MASTER_PORT for the processes
// it starts.
#ifndef ST_LIB_RUNTIME_TORCHSTORE_H
#define ST_LIB_RUNTIME_TORCHSTORE_H

#include "lib/Runtime/Processes/Socket.h"

#include <string>

namespace st {

/// Sets a value in the store at the other end; the value is visible on return.
absl::Status setInStore(const Socket &store, const std::string &key, const std::string &value,
                        Clock::time_point deadline);

/// Waits until a value is set.
absl::StatusOr<std::string> getFromStore(const Socket &store, const std::string &key,
                                         Clock::time_point deadline);

} // namespace st

#endif // ST_LIB_RUNTIME_TORCHSTORE_H
