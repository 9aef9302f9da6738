// Proof that all messages of a step arrive.
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

/// The messages of a step, each rank's in an order in which its programs and its schedule allow
/// them. They are known from the programs' skeletons (SyncSkeleton.h), so that no access to memory
/// is followed for them.
class StepMessages {
public:
  /// All must outlive this. `programs`: of each task of the executable, equal ones shared. At most
  /// `work` instructions of skeletons are followed.
  StepMessages(const proto::Executable &executable,
               const std::map<const proto::Task *, const Program *> &programs, int64_t work);
  ~StepMessages();

  /// The messages of a run of an entry of the schedule, in the order that proveWaits gives them;
  /// the proof that the run waits for nothing else for ever is part of it. ResourceExhausted where
  /// work ran out.
  absl::StatusOr<std::shared_ptr<const std::vector<LinkEvent>>>
  eventsOf(const proto::Group &group, int64_t rank, const proto::ScheduleEntry &entry);

  /// Runs sends and receives of all ranks against each other, sends never waiting. Then no rank
  /// waits for ever, each receive gets as many bytes as it takes, and no message is left. The
  /// number of messages, or an error of one line.
  absl::StatusOr<int64_t> prove();

private:
  struct Skeleton;

  const proto::Executable &executable;
  std::vector<std::unique_ptr<Skeleton>> skeletons;
  std::map<const proto::Task *, Skeleton *> skeletonOfTask;
  int64_t work; ///< that is left
};

} // namespace st::dtu
