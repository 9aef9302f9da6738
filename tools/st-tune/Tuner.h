// The main loop of st-tune: finds layouts, measures them and compares their times.
#ifndef ST_TOOLS_ST_TUNE_TUNER_H
#define ST_TOOLS_ST_TUNE_TUNER_H

#include "tools/st-tune/Flags.h"
#include "tools/st-tune/Settings.h"
#include "tools/st-tune/Tables.h"
#include "tools/st-tune/Trial.h"

namespace mlir::st {

class Tuner {
public:
  Tuner(const TuneFlags &flags, std::string toolFolder)
      : flags(flags), toolFolder(std::move(toolFolder)) {}

  /// Measures and prints. Fails for bad input and if no trial succeeds; Cancelled if a signal must
  /// end the process.
  absl::Status run();

private:
  absl::Status plan();
  absl::StatusOr<::st::proto::PlanReport> runPlanner(const std::string &batch) const;
  /// Returns true if the plan's lower bounds hold for the measured devices.
  bool measuresPlannedHardware() const;

  absl::StatusOr<TrialRow> measure(const TuneCandidate &candidate);
  /// A finished row of the same trial, or null if it must run.
  const TrialRow *findFinished(const std::string &key) const;
  absl::Status measureBaseline();
  absl::Status measureCandidates();
  bool noneCanWin(size_t next, double best) const;

  void note(const std::string &text) const;
  absl::Status conclude() const;

  const TuneFlags &flags;
  const std::string toolFolder;
  TuneSettings settings;
  CandidateSet set;
  std::unique_ptr<ResultsFile> results;
  std::unique_ptr<WorkFolder> work;
  std::vector<MeasuredTrial> baseline, trials;
  size_t resumed = 0; ///< trials finished by an earlier run
  double seconds = 0; ///< of the trials of this run
};

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_TUNER_H
