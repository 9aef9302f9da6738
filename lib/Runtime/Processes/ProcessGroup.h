// What communicators between processes share: who holds which rank, and how errors say it.
#ifndef ST_LIB_RUNTIME_PROCESSGROUP_H
#define ST_LIB_RUNTIME_PROCESSGROUP_H

#include "lib/Support/ProcessEnd.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <optional>
#include <string>

namespace st {

/// One process of several.
struct Member {
  int64_t process = 0, processes = 1;

  /// "process 0 of 2"
  std::string name() const;
  /// What is said of another one that ended while it was needed.
  std::string lost(int64_t other) const;
  /// What did not come within the watchdog's time.
  absl::Status silent(absl::string_view what, double seconds) const;
};

class ProcessGroup : public Communicator {
public:
  explicit ProcessGroup(const GroupOptions &options) : options(options) {}

  int64_t numProcesses() const override { return self.processes; }
  int64_t process() const override { return self.process; }
  int64_t processOf(int64_t rank) const override { return rank * self.processes / options.ranks; }

protected:
  /// From now on an early end says which process this was.
  void setSelf(const Member &member);
  absl::Status checkPeer(const Peer &peer) const;
  /// What a process is at while it receives.
  static std::string receiving(const Peer &from);

  GroupOptions options;
  Member self;

private:
  std::optional<NotedOnEarlyEnd> alive;
};

} // namespace st

#endif // ST_LIB_RUNTIME_PROCESSGROUP_H
