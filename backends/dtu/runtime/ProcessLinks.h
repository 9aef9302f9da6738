// Link messages of the simulator over a Communicator.
#ifndef ST_BACKENDS_DTU_RUNTIME_PROCESSLINKS_H
#define ST_BACKENDS_DTU_RUNTIME_PROCESSLINKS_H

#include "backends/dtu/simulator/data/RemoteLinks.h"
#include "st/Runtime/Communicator.h"

#include <memory>
#include <mutex>
#include <vector>

namespace st::dtu {

class ProcessLinks : public RemoteLinks {
public:
  /// The communicator must outlive the links.
  explicit ProcessLinks(Communicator &communicator);

  int64_t numProcesses() const override { return communicator.numProcesses(); }
  int64_t processOf(int64_t rank) const override { return communicator.processOf(rank); }
  bool isLocal(int64_t rank) const override { return processOf(rank) == communicator.process(); }
  absl::Status send(const RemoteMessage &message, const uint8_t *data) override;
  absl::StatusOr<RemoteMessage> receive(int64_t process) override;
  absl::Status receiveBytes(int64_t process, absl::Span<uint8_t> bytes) override;

private:
  Communicator &communicator;
  std::vector<std::mutex> sending; ///< per process: a message header and its bytes must not be
                                   ///< interleaved with others
};

class Simulator;

/// Gives every process the work and the loaded values of each rank in the last step. Every process
/// must call it.
absl::Status shareExecuted(Simulator &simulator, Communicator &communicator);

} // namespace st::dtu

#endif // ST_BACKENDS_DTU_RUNTIME_PROCESSLINKS_H
