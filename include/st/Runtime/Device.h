// Devices on which a client runs programs.
#ifndef ST_RUNTIME_DEVICE_H
#define ST_RUNTIME_DEVICE_H

#include <cstdint>
#include <string>

namespace st {

/// One device by its number in the parallel configuration: a DTU cluster or a GPU.
struct Device {
  int64_t id = 0;
  std::string name;        ///< as users write it, such as "/device:XLA_DTU:5"
  int64_t memoryBytes = 0; ///< available to its ranks
};

} // namespace st

#endif // ST_RUNTIME_DEVICE_H
