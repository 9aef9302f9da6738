// How the processes that run one executable together agree.
#ifndef ST_RUNTIME_COMMUNICATOR_H
#define ST_RUNTIME_COMMUNICATOR_H

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>

namespace st {

/// A group of processes; each holds some ranks of the executable. Every process
/// makes the same calls in the same order.
class Communicator {
public:
  virtual ~Communicator() = default;

  virtual int64_t numProcesses() const = 0;
  virtual int64_t process() const = 0;

  /// Which process holds a rank of the executable.
  virtual int64_t processOf(int64_t rank) const = 0;

  /// Every process gets the bytes that `root` holds.
  virtual absl::Status broadcast(absl::Span<uint8_t> bytes, int64_t root) = 0;

  /// Returns once every process has called it.
  virtual absl::Status barrier() = 0;
};

/// One process that holds every rank.
std::unique_ptr<Communicator> createInProcessCommunicator();

} // namespace st

#endif // ST_RUNTIME_COMMUNICATOR_H
