// Finds processes that compute more slowly than others with the same work.
#ifndef ST_RUNTIME_PROCESSES_STRAGGLERWATCH_H
#define ST_RUNTIME_PROCESSES_STRAGGLERWATCH_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace st {

struct StragglerOptions {
  double factor = 2;   ///< a straggler computes this many times as long as others; 0: no watch
  int64_t window = 20; ///< steps over which a rank's median is taken
};

/// An error names the flag.
absl::Status checkStragglerOptions(const StragglerOptions &options);

/// A process that is slow in some device group.
struct Straggler {
  int64_t process = 0;
  std::string host;
  std::vector<int64_t> devices; ///< of its ranks in the group, ascending
  double slowdown = 1;          ///< its computing time over that of the other processes
};

/// The result of the comparison at the end of a window.
struct StragglerReport {
  int64_t steps = 0;                ///< of the windows over which a straggler was slow
  double slowest = 1;               ///< largest slowdown of any process in this window
  std::vector<Straggler> slow;      ///< the stragglers
  std::vector<Straggler> begun;     ///< those that the last report did not have
  std::vector<Straggler> recovered; ///< those that only the last report had

  /// A line for each change; empty if there is none.
  std::string describeChanges() const;
};

/// All ranks of a device group run the same program, so their computing times should be equal.
/// Each process takes the median of each of its ranks over the steps of a window, and sends it to
/// process 0. There the mean over a process's ranks of a group is compared with the lower median of
/// these means over all processes that hold ranks of the group. A process is a straggler if it
/// exceeds `factor` in two successive windows. A group in one process is not compared.
class StragglerWatch {
public:
  /// `program` and `communicator` must outlive the watch.
  StragglerWatch(const proto::Executable &program, Communicator &communicator,
                 const StragglerOptions &options);

  /// To be called in all processes after each step. `seconds`: the computing time of each rank in
  /// this step; empty if the devices do not measure it. Returns a report in process 0 at the end of
  /// each window.
  absl::StatusOr<std::optional<StragglerReport>> after(absl::Span<const double> seconds);

private:
  using Key = std::pair<int64_t, int64_t>; ///< process, device group
  /// The message of a process: its host's name and the medians of its ranks.
  struct Medians;

  size_t countRanks(int64_t process) const {
    const auto index = static_cast<size_t>(process);
    return static_cast<size_t>(firstRanks[index + 1] - firstRanks[index]);
  }
  absl::StatusOr<std::optional<StragglerReport>> endWindow();
  StragglerReport compare(const std::vector<Medians> &processes);
  std::map<Key, Straggler> compareGroup(int64_t group, const std::vector<Medians> &processes) const;

  const proto::Executable &program;
  Communicator &communicator;
  StragglerOptions options;
  std::vector<int64_t> firstRanks;        ///< first rank of each process, then their number
  std::vector<std::vector<double>> times; ///< of each rank of this process, in the window
  std::set<Key> slowBefore, named;        ///< in process 0: of the last window, of the last report
};

} // namespace st

#endif // ST_RUNTIME_PROCESSES_STRAGGLERWATCH_H
