// The exchanges and channels of a program, read from its commands; the same in all processes.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_PROGRAMPEERS_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_PROGRAMPEERS_H

#include "backends/cuda/runtime/communication/Exchange.h"
#include "lib/Proto/executable.pb.h"

#include "absl/status/statusor.h"

#include <set>
#include <vector>

namespace st::cuda {

/// The channel number of exchanges; messages never use it.
constexpr int64_t kExchangeChannel = -1;

struct ProgramPeers {
  std::set<std::vector<int64_t>> exchanges; ///< members of each
  std::set<Exchange::Channel> channels;     ///< of messages

  static absl::StatusOr<ProgramPeers> find(const proto::Executable &program);
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMUNICATION_PROGRAMPEERS_H
