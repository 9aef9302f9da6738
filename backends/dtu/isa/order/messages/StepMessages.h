// Proves that all messages of a step arrive.
#pragma once

#include "backends/dtu/isa/order/ProgramOrder.h"
#include "lib/Proto/executable.pb.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace st::dtu {

/// The messages of a step, those of each rank in an order that its programs and schedule allow.
/// They come from the programs' skeletons (SyncSkeleton.h), so no memory access is followed.
class StepMessages {
public:
  /// All arguments must outlive this. `programs` has one entry per task of the executable; equal
  /// programs are shared. At most `work` skeleton instructions are followed.
  StepMessages(const proto::Executable &executable,
               const std::map<const proto::Task *, const Program *> &programs, int64_t work);
  ~StepMessages();

  /// The messages of a run of a schedule entry, in the order of proveWaits, including the proof
  /// that the run waits for nothing else. ResourceExhausted if the budget ran out.
  absl::StatusOr<std::shared_ptr<const std::vector<LinkEvent>>>
  eventsOf(const proto::Group &group, int64_t rank, const proto::ScheduleEntry &entry);

  /// Matches the sends and receives of all ranks; sends never wait. On success no rank waits
  /// forever, each receive gets the number of bytes that it expects, and no message remains.
  /// Returns the number of messages, or an error of one line.
  absl::StatusOr<int64_t> prove();

private:
  struct Skeleton;

  const proto::Executable &executable;
  std::vector<std::unique_ptr<Skeleton>> skeletons;
  std::map<const proto::Task *, Skeleton *> skeletonOfTask;
  int64_t work; ///< remaining budget
};

} // namespace st::dtu
