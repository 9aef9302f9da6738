// The states of a program at one moment, read while training continues.
#ifndef ST_RUNTIME_STATE_STATESNAPSHOT_H
#define ST_RUNTIME_STATE_STATESNAPSHOT_H

#include "lib/Runtime/State/States.h"
#include "st/Runtime/Executable.h"

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace st {

/// The states in the memory of this process, as they are when the snapshot is taken.
///
/// A step writes states only in its updates. Where the host reads the arenas in place, a replica is
/// read from its arena until the rank's next update. Before this update, replicas that were not
/// read yet are copied, as long as there is memory for copies; for the others the update waits. On
/// other devices all replicas are copied when the snapshot is taken.
class StateSnapshot {
public:
  /// `memory`: bytes for copies; by default the bytes of states of the rank with the most. The
  /// states and the executable must outlive the snapshot. To be called between steps.
  static absl::StatusOr<std::unique_ptr<StateSnapshot>>
  take(const std::vector<StateTensor> &states, Executable &executable,
       std::optional<int64_t> memory = std::nullopt);
  /// To be called between steps.
  ~StateSnapshot();
  StateSnapshot(const StateSnapshot &) = delete;
  StateSnapshot &operator=(const StateSnapshot &) = delete;

  /// Returns true if the memory of the rank is in this process.
  bool isLocal(int64_t rank) const;

  /// The bytes of a replica, valid until the next unpin of the same replica.
  const uint8_t *pin(const StateReplica &replica);
  void unpin(const StateReplica &replica);
  /// Like unpin; the replica will not be pinned again.
  void release(const StateReplica &replica);

  /// No replica will be pinned any more, so updates need not wait.
  void stop();

  /// True while an update waits.
  bool isAwaited() const;

  /// The time for which updates waited, and the maximum bytes of copies at any time.
  double waitedSeconds() const;
  int64_t maxCopied() const;

private:
  using Clock = std::chrono::steady_clock;
  /// Live: as in the arena. Copying: by an update. Copied: the arena may have other bytes.
  enum class Where { Live, Copying, Copied, Released };
  struct Piece {
    int64_t bytes = 0;
    const uint8_t *arena = nullptr;
    std::unique_ptr<uint8_t[]> copy;
    Where where = Where::Live;
    int pins = 0;
  };
  using Key = std::pair<int64_t, int64_t>; ///< rank, offset

  explicit StateSnapshot(Executable &executable) : executable(executable) {}
  absl::Status add(const StateReplica &replica, int64_t bytes);
  absl::Status copyAll();
  void beforeUpdate(int64_t rank);
  void preserve(Piece &piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void countWait(int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  Executable &executable;
  bool isHooked = false;
  mutable absl::Mutex mutex;
  absl::CondVar changed;
  std::map<Key, Piece> pieces ABSL_GUARDED_BY(mutex);
  int64_t memoryLeft ABSL_GUARDED_BY(mutex) = 0;
  int64_t copied ABSL_GUARDED_BY(mutex) = 0, most ABSL_GUARDED_BY(mutex) = 0;
  bool isStopped ABSL_GUARDED_BY(mutex) = false;
  int waiting ABSL_GUARDED_BY(mutex) = 0;
  Clock::time_point waitBegin ABSL_GUARDED_BY(mutex);
  Clock::duration waited ABSL_GUARDED_BY(mutex) = {};
};

} // namespace st

#endif // ST_RUNTIME_STATE_STATESNAPSHOT_H
