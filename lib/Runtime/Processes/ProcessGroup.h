// Common parts of communicators between processes: the ranks of each process, and error texts.
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
  /// The error for a peer that ended before it sent or received a message.
  std::string lost(int64_t other) const;
  /// The error for a message that did not arrive within the watchdog's time.
  absl::Status silent(absl::string_view what, double seconds) const;
};

class ProcessGroup : public Communicator {
public:
  explicit ProcessGroup(const GroupOptions &options) : options(options) {}

  int64_t numProcesses() const override { return self.processes; }
  int64_t process() const override { return self.process; }
  int64_t processOf(int64_t rank) const override { return rank * self.processes / options.ranks; }

protected:
  /// Sets the process name for reports of an early end.
  void setSelf(const Member &member);
  absl::Status checkPeer(const Peer &peer) const;
  /// Describes a receive in progress.
  static std::string receiving(const Peer &from);

  GroupOptions options;
  Member self;

private:
  std::optional<NotedOnEarlyEnd> alive;
};

} // namespace st

#endif // ST_LIB_RUNTIME_PROCESSGROUP_H
