#include "lib/Runtime/Training/RunSaves.h"
#include "lib/Runtime/Training/StopRequest.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <chrono>

namespace st {

absl::Status RunSaves::claim() {
  if (options.save.empty() || communicator.process() != 0)
    return absl::OkStatus();
  if (options.saving.isSeries()) {
    ST_ASSIGN_OR_RETURN(series, CheckpointSeries::claim(options.save, options.saving.keep));
  } else {
    ST_ASSIGN_OR_RETURN(folder, CheckpointFolder::claim(options.save));
  }
  return absl::OkStatus();
}

absl::Status RunSaves::begin(Executable &executable, const TrainerState &trainer,
                             const std::optional<LearningRateSchedule> &schedule) {
  ST_RETURN_IF_ERROR(finish());
  const auto start = std::chrono::steady_clock::now();
  if (series) {
    ST_ASSIGN_OR_RETURN(stepFolder, series->claimStep(trainer.step));
  }
  if (CheckpointFolder *target = series ? stepFolder.get() : folder.get())
    ST_RETURN_IF_ERROR(target->prepare());
  // The other processes write into the folder after process 0 has prepared it.
  if (communicator.numProcesses() > 1)
    ST_RETURN_IF_ERROR(communicator.barrier());
  ST_ASSIGN_OR_RETURN(snapshot, StateSnapshot::take(states, executable, options.saving.memory));
  job.emplace(SaveJob{program, states, communicator, *snapshot, trainer, schedule,
                      options.saving.shardBytes});
  newest = trainer.step;
  isReported = false;
  running = std::make_unique<BackgroundTask>([this] { return work(); });
  stalledSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return options.saving.isAsync ? absl::OkStatus() : finish();
}

// Runs on the background thread.
absl::Status RunSaves::work() {
  absl::Status status;
  const std::string path =
      options.saving.isSeries() ? folderOfStep(options.save, job->trainer.step) : options.save;
  if (communicator.process() != 0)
    status = CheckpointFolder::help(path, *job);
  else
    status = (series ? *stepFolder : *folder).save(*job);
  if (series && status.ok())
    status = series->endSave(job->trainer.step);
  snapshot->stop();
  return status;
}

absl::Status RunSaves::check() {
  if (!running || !running->isDone())
    return absl::OkStatus();
  reportEnd();
  return running->status();
}

void RunSaves::reportEnd() {
  if (isReported || !running->status().ok())
    return;
  isReported = true;
  absl::StrAppendFormat(&report, "saved step %d to %s in %.1f s", job->trainer.step,
                        escapeControls(options.save), running->seconds() + stalledSeconds);
  constexpr double kMebibyte = 1 << 20;
  if (options.saving.isAsync)
    absl::StrAppendFormat(&report, ", for which training waited %.3f s and copied %.1f MiB",
                          stalledSeconds + snapshot->waitedSeconds(),
                          static_cast<double>(snapshot->maxCopied()) / kMebibyte);
  report += '\n';
}

void RunSaves::leave() {
  running.reset();
  job.reset();
  snapshot.reset();
  stepFolder.reset();
}

absl::Status RunSaves::finish() {
  if (!running)
    return absl::OkStatus();
  // Each wait is short, so that no process considers another one lost because of a slow disk.
  constexpr int kDone = 0, kFailed = 1, kRuns = 2;
  int state = kRuns;
  while (state == kRuns) {
    const bool isDone = running->waitFor(absl::Seconds(1));
    state = !isDone ? kRuns : running->status().ok() ? kDone : kFailed;
    if (communicator.numProcesses() > 1) {
      ST_ASSIGN_OR_RETURN(state, largestOfAll(communicator, state));
    }
  }
  reportEnd();
  const absl::Status status = running->status();
  leave();
  ST_RETURN_IF_ERROR(status);
  return state == kDone ? absl::OkStatus()
                        : absl::UnavailableError("another process could not save its files");
}

} // namespace st
