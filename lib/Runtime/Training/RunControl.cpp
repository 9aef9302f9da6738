#include "lib/Runtime/Training/RunControl.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

namespace st {
namespace {

// Requests of one process, strongest last; values above kEndsBySignal encode the signal's number.
constexpr int kSavesByTime = 1, kEndsByTime = 2, kEndsBySignal = 3;

double minutes(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::ratio<60>>(time).count();
}

} // namespace

RunControl::RunControl(const TrainOptions &options, Communicator &communicator)
    : options(options), communicator(communicator) {
  if (!options.save.empty())
    signals.emplace();
}

absl::StatusOr<int> RunControl::agree() {
  const Clock::time_point now = Clock::now();
  int request = 0;
  if (const int number = signals ? StopSignals::received() : 0; number != 0)
    request = kEndsBySignal + number;
  else if (options.exitMinutes > 0 && minutes(now - start) >= options.exitMinutes)
    request = kEndsByTime;
  else if (options.saving.minutes > 0 && minutes(now - lastSave) >= options.saving.minutes)
    request = kSavesByTime;
  const bool mayDiffer = signals || options.exitMinutes > 0;
  if (communicator.numProcesses() > 1 && mayDiffer)
    return largestOfAll(communicator, request);
  return request;
}

absl::StatusOr<AfterStep> RunControl::beforeFirst() {
  ST_ASSIGN_OR_RETURN(const int request, agree());
  AfterStep then;
  if (request > kEndsBySignal)
    then.end = nameOfSignal(request - kEndsBySignal);
  return then;
}

absl::StatusOr<AfterStep> RunControl::after(int64_t step) {
  ST_ASSIGN_OR_RETURN(const int request, agree());
  AfterStep then;
  const int64_t interval = options.saving.interval;
  then.saves = request == kSavesByTime || (interval > 0 && step % interval == 0);
  if (request > kEndsBySignal)
    then.end = nameOfSignal(request - kEndsBySignal);
  else if (request == kEndsByTime)
    then.end = absl::StrCat("--exit-duration-in-mins=", options.exitMinutes);
  else if (options.exitInterval > 0 && step % options.exitInterval == 0)
    then.end = absl::StrCat("--exit-interval=", options.exitInterval);
  if (then.saves)
    lastSave = Clock::now();
  return then;
}

} // namespace st
