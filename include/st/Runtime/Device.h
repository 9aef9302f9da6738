// What a client runs programs on.
#ifndef ST_RUNTIME_DEVICE_H
#define ST_RUNTIME_DEVICE_H

#include <cstdint>
#include <string>

namespace st {

/// One device as the parallel configuration numbers it: a DTU cluster, a GPU.
struct Device {
  int64_t id = 0;
  std::string name;        ///< as users write it, such as "/device:XLA_DTU:5"
  int64_t memoryBytes = 0; ///< what ranks on it may use
};

} // namespace st

#endif // ST_RUNTIME_DEVICE_H
